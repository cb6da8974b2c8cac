"""Roles of page elements, which decide what is visible in lecture mode."""
