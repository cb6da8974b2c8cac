"""Bets: a question about a page with several choices, and the verdict on the answer. Lessons reuse the same code."""
