"""The "How it came about" page: the attribution graph of a predicted token, and the score of one cell."""
