"""JavaScript components, the data that they receive, and the validation of the messages that they send."""
