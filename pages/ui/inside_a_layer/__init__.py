"""The "Inside a layer" page."""
