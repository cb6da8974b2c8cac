"""Runs Streamlit with app.py in one process.

`python -m attention_atlas.app_process OPTIONS` exits as soon as its parent process exits.
"""

import os
import runpy
import sys
import threading
from collections.abc import Sequence

from transformer.files.paths import APP

# If this environment variable is set, the app answers no request until its first pages have been rendered.
WARM_UP_VARIABLE = "ATTENTION_ATLAS_ANSWERS_WHEN_WARM"


def run(options: Sequence[str]) -> None:
    """Serve the app as `streamlit run app.py` does, from any working directory.

    Streamlit finds .streamlit/config.toml next to app.py. No file in this package may import Streamlit, so `runpy` runs
    Streamlit as a module.
    """
    sys.argv = ["streamlit", "run", str(APP / "app.py"), *options]
    runpy.run_module("streamlit", run_name="__main__")


def exit_with_parent() -> None:
    """Exit once the pipe on standard input closes, which happens when the parent process exits."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=exit_with_parent, daemon=True).start()
    run(sys.argv[1:])
