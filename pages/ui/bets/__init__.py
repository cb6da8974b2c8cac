"""Bets: multiple-choice questions about a page, and verdicts on the answers. Lessons use the same code."""
