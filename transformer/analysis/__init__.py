"""Measurements of a trace, and the mathematics behind them, in numpy; they never run the model."""
