"""The parts of the page Training lab."""
