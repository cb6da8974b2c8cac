"""Parts of the "What mattered" page, which attributes a predicted word to the words that the model has read."""
