"""What each attention head does, measured, named, compared and laid out."""
