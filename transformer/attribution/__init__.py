"""Attribution methods, one per file: measure how much each token or word mattered for a prediction."""
