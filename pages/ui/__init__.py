"""Code for the page scripts. tests/unit/test_borders.py lists the packages in this folder, from the lowest layer up."""
