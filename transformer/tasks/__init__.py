"""Small tasks with an exact answer, on which a Transformer learns within seconds."""
