"""The three attention pages: encoder, masked and cross-attention."""
