"""The sentence form, and `Reading`, the result that pages receive: a sentence and the model's runs on it."""
