"""Numbers read off a trace and a model's weights, and the mathematics beside them: numpy only, no model."""
