"""The frame around every page: navigation, title, and what the server leaves out."""
