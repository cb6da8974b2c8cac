"""Runs a command line with readable errors for the terminal, or for the program that reads its output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

# Shells report a command that a signal ended as 128 plus its number: here SIGINT, and SIGPIPE, which Windows lacks.
STOPPED, UNREAD = 130, 141
# The highest number of a port.
MAX_PORT = 65_535


@contextmanager
def at_terminal(*errors: type[Exception]) -> Iterator[None]:
    """Run a command with readable exits.

    Ctrl-C ends it with one line, and a closed pipe silently. A character that the terminal cannot show is written as
    `\\u65e5`.

    Args:
        errors: errors that also end it with one line, because their message says what was wrong.

    Raises:
        SystemExit: it was stopped, the pipe was closed, or there was such an error.
    """
    # None where there is no terminal, as on Windows.
    output: TextIO | None = sys.stdout
    if isinstance(output, TextIOWrapper):
        output.reconfigure(errors="backslashreplace")
    try:
        yield
        # Flush now, so that a BrokenPipeError is raised here and not at interpreter exit.
        if output is not None:
            output.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(STOPPED)
    except BrokenPipeError:
        # The remaining output is discarded: https://docs.python.org/3/library/signal.html#note-on-sigpipe
        if output is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        sys.exit(UNREAD)
    except errors as error:
        missing = isinstance(error, FileNotFoundError)
        sys.exit(f"error: {f'there is no file {error.filename}' if missing else error}")
