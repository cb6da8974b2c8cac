"""Computes numbers from a trace and a model's weights, and the mathematics behind them: numpy only, no model."""
