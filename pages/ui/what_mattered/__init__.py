"""Parts of the "What mattered" page: attribution of a predicted word to the words that the model has read."""
