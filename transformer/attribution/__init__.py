"""Attribution: the tokens and words that mattered for a prediction; one file per method, one type of result."""
