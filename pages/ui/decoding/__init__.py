"""The "Decoding step by step" page: a decoded text with all its steps, and a comparison of decoding methods."""
