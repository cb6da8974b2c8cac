"""The "Decoding step by step" page."""
