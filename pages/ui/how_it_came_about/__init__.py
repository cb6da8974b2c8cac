"""The "How it came about" page: a predicted token's attribution graph, and the terms of one attention score."""
