"""Speeds up the model on a CPU. Only the order of summation changes, so results differ only by rounding errors."""
