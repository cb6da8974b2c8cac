"""Language models: the probability of a text, its continuation, and heads that copy."""
