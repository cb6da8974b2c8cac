"""The encoder, masked and cross-attention pages."""
