"""The model: attention, masks, positions, layers, and the complete Transformer."""
