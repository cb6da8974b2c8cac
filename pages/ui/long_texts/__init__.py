"""The parts of the page Long texts."""
