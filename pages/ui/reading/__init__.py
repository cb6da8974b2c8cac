"""The sentence form, and what a page reads off the sentence that was sent."""
