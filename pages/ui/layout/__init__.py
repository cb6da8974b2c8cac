"""Roles of page elements, which decide what lecture mode shows."""
