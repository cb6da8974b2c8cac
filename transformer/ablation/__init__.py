"""Ablation: measures the effect of one change, of each head alone, and of removing the heads one after the other."""
