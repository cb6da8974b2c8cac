"""The "Change what it looks at" page: users edit attention rows and erase words."""
