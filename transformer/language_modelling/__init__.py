"""Language models: text scores, continuations, attention maps, and induction heads."""
