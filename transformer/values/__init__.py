"""Immutable inputs and results of model runs, based on numpy: traces, translations, interventions and settings."""
