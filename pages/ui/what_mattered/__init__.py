"""The page What mattered: attribution of a predicted word to the words that were read."""
