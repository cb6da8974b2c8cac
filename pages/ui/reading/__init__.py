"""The sentence form, and the `Reading` that pages receive: a sentence as read by the model."""
