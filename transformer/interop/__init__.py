"""Models and attention of other programs, in and out."""
