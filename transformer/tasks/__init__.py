"""Small tasks with exact answers, which a small Transformer learns within seconds."""
