"""Widgets that choose an attention kind, layer and head, and text with links to heads."""
