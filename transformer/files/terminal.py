"""What every command line does alike with the terminal, or with the program that reads what it prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

# As shells say that a signal ended a command: 128 and the number of SIGINT, or of SIGPIPE, which Windows does not have.
STOPPED, UNREAD = 130, 141
# The highest number of a port.
MOST_PORT = 65_535


@contextmanager
def at_terminal(*errors: type[Exception]) -> Iterator[None]:
    """Run a command: Ctrl-C ends it with one line, a reader who has read enough without any, and a character that the
    terminal cannot show is written as `\\u65e5`.

    Args:
        errors: those that end it with one line, too, because their message says what was wrong.

    Raises:
        SystemExit: it was stopped, nobody reads on, or there was such an error.
    """
    # None where there is no terminal, as on Windows.
    output: TextIO | None = sys.stdout
    if isinstance(output, TextIOWrapper):
        output.reconfigure(errors="backslashreplace")
    try:
        yield
        # Here, where it can be answered that nobody reads it, and not when the interpreter ends.
        if output is not None:
            output.flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(STOPPED)
    except BrokenPipeError:
        # What is still to be written goes nowhere: https://docs.python.org/3/library/signal.html#note-on-sigpipe
        if output is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        sys.exit(UNREAD)
    except errors as error:
        missing = isinstance(error, FileNotFoundError)
        sys.exit(f"error: {f'there is no file {error.filename}' if missing else error}")
