"""Numbers read off a trace: numpy only, no model."""
