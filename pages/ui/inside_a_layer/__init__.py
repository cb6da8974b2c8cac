"""Parts of the "Inside a layer" page: all stages, one cell, the mask, norms, and parameter counts."""
