"""Lecture mode: one figure as large as the screen, the slides of a lecture, and the QR code of what is shown."""
