"""Text with links to heads, and widgets for choosing an attention kind, a layer and a head."""
