"""Code behind the page scripts. tests/unit/test_borders.py lists the layers."""
