"""The "What mattered" page: attribution of a predicted word to the words that were read."""
