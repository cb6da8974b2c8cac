"""The sentence form, and the reading of the submitted sentence that pages use."""
