"""Parts of the "Compare heads" page: all heads, similar heads, two heads, two models, and one word in all layers."""
