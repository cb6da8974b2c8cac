"""What a language model says of a text, how it goes on, and which of its heads copy."""
