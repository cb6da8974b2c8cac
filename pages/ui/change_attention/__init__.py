"""The "Change what it looks at" page: users set attention rows and erase words."""
