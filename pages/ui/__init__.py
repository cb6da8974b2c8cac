"""The code of the pages, apart from their scripts; tests/unit/test_borders.py lists its layers."""
