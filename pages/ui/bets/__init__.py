"""Bets: a question about the page, its choices, and the verdict on an answer. Lessons ask in the same way."""
