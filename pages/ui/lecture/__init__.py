"""Lecture mode, slides and QR codes, and the controls for them."""
