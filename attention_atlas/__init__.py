"""What people start: the command `attention-atlas` and the server of the app."""
