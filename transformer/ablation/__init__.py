"""Ablation and patching: measure how a translation changes when heads are switched off or activations are replaced."""
