"""Runs commands so that errors, Ctrl-C and closed pipes end them without a traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TextIO

# Exit codes for SIGINT and SIGPIPE. If a signal ends a command, shells report 128 plus the signal's number. The numbers
# are literal, because Windows has no SIGPIPE.
INTERRUPTED_STATUS, BROKEN_PIPE_STATUS = 130, 141
MAX_PORT = 65_535


@contextmanager
def errors_without_traceback(*errors: type[Exception]) -> Iterator[None]:
    """Context manager that runs the block as a command, without tracebacks.

    On Ctrl-C, the command prints one line and exits; on a closed pipe, it exits silently. A character that the terminal
    cannot show is written as an escape sequence, such as `\\u65e5`.

    Args:
        errors: exception types that end the command with an error message on the terminal.

    Raises:
        SystemExit: the user pressed Ctrl-C, the pipe was closed, or the block raised one of `errors`.
    """
    # sys.stdout can be None if there is no terminal, for example under pythonw on Windows.
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
        sys.exit(INTERRUPTED_STATUS)
    except BrokenPipeError:
        # Discard the remaining output: https://docs.python.org/3/library/signal.html#note-on-sigpipe
        if output is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        sys.exit(BROKEN_PIPE_STATUS)
    except errors as error:
        missing = isinstance(error, FileNotFoundError)
        sys.exit(f"error: {f'there is no file {error.filename}' if missing else error}")
