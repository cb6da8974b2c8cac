"""Immutable numpy values that a run takes or returns: traces, translations, interventions, settings."""
