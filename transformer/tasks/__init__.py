"""Small tasks with exact answers, such as sorting letters, that a small Transformer learns within seconds."""
