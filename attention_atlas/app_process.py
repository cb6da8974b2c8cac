"""One app process: Streamlit with app.py.

`python -m attention_atlas.app_process OPTIONS` exits whenever its parent process exits.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from collections.abc import Sequence

from transformer.files.paths import APP

# If this environment variable is set, a process answers no request until its first pages are computed.
WARM_UP_VARIABLE = "ATTENTION_ATLAS_ANSWERS_WHEN_WARM"


def run(options: Sequence[str]) -> None:
    """Serve the app as `streamlit run app.py` does, regardless of the current folder.

    Streamlit finds .streamlit/config.toml next to app.py. It runs as a module of this process, because no file of this
    package imports it.
    """
    sys.argv = ["streamlit", "run", str(APP / "app.py"), *options]
    runpy.run_module("streamlit", run_name="__main__")


def exit_with_parent() -> None:
    """Exit when standard input closes. It is a pipe from the parent process."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=exit_with_parent, daemon=True).start()
    run(sys.argv[1:])
