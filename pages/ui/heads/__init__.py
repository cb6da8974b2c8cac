"""Widgets for choosing an attention kind, layer and head, and text with links to heads."""
