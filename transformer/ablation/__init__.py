"""Measures how a translation changes when heads are switched off (ablation) or activations are replaced (patching)."""
