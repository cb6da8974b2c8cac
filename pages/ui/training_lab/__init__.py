"""Parts of the "Training lab" page."""
