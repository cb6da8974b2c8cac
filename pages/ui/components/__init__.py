"""JavaScript components, and the bytes that they receive."""
