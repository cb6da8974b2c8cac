"""Code for the page scripts. tests/unit/test_borders.py lists these packages, from the lowest layer to the highest."""
