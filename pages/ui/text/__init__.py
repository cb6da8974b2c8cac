"""Users' text, labels and numbers in words."""
