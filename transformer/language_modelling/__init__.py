"""Language models: scoring and continuing texts, attention maps, and induction heads."""
