"""Parts of the "Backpropagation" page: one gradient with its formula, and gradient norms across the layers."""
