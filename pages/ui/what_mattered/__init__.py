"""What mattered for a predicted word."""
