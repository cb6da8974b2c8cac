"""The frame around every page: navigation, title and styles."""
