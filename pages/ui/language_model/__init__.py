"""The page of the language model: how it goes on from a beginning, why, and how likely it finds a text."""
