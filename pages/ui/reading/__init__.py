"""The sentence form, and `Reading`, which gives pages the sentence and the model's runs on it."""
