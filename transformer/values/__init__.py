"""Immutable values that a run takes or returns, in numpy: traces, translations, interventions, settings."""
