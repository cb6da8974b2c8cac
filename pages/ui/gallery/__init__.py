"""The gallery of heads."""
