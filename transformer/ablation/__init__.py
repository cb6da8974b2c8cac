"""Ablation: the model without some of its parts, for one change, each head alone, and heads removed in turn."""
