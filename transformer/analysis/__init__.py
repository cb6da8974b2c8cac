"""Measurements of a trace, and the mathematics behind them, in numpy. This package never runs the model."""
