"""The behaviour of each attention head: measured, named, compared and laid out."""
