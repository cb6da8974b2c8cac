"""Everything of the pages but their scripts; tests/unit/test_borders.py lists the floors."""
