"""The page How it came about: the attribution graph of a predicted token, and the score of one cell."""
