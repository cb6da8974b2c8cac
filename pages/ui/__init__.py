"""Code behind the page scripts. tests/unit/test_borders.py lists its packages, from the lowest layer to the highest."""
