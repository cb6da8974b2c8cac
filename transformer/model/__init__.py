"""The model: attention, masks, positions, layers, and the Transformer made of them."""
