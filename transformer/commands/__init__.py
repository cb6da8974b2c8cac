"""The command lines of the library, one file a command or a family of commands."""
