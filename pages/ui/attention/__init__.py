"""The three attention pages."""
