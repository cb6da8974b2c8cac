"""The command-line interfaces of the library, one file for each command or group of related commands."""
