"""Command-line interfaces of the library, one module per command or group of related commands."""
