"""Roles of page elements, which decide what is shown when one figure fills the screen."""
