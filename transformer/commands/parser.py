"""Argument parser of all commands, and help texts that several commands share."""

import argparse
from typing import Any

PAIRS_HELP = "file with one sentence pair per line: source, tab, target (plain or .gz)"


class CommandParser(argparse.ArgumentParser):
    """Argument parser whose help names the default of every option that has one. Its subcommands use this class, too.

    Options in a mutually exclusive group must name their defaults themselves.
    """

    def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
        if settings.get("default") not in (None, "", [], argparse.SUPPRESS) and "help" in settings:
            settings["help"] += " (default: %(default)s)"
        return super().add_argument(*names, **settings)
