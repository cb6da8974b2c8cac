"""What mattered for a predicted word: one file a method, one type of result."""
