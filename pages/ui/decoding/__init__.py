"""The "Decoding step by step" page: one text with all steps, and a comparison of decoding methods."""
