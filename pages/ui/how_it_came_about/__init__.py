"""The "How it came about" page: the attribution graph of a predicted token, and the terms of one attention score."""
