"""What the model does without some of its parts: one change, every head by itself, and heads removed in turn."""
