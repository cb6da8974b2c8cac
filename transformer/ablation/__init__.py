"""Ablation: measures the effects of one change, of switching each head off, and of removing heads one after another."""
