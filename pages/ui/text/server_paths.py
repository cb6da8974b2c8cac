"""Removes the folders of the server from texts that users see."""

from __future__ import annotations

import os
from pathlib import Path

from pages.ui.text.markup import markdown
from transformer.checkpoints.available_models import VARIABLE
from transformer.files.paths import APP


def without_server_paths(text: str) -> str:
    """Make paths in a text relative to the folder of the app, the working folder, or the folder of models."""
    places = {str(APP): "", os.getcwd(): "", str(Path.home()): "~"}
    if models := os.environ.get(VARIABLE):
        places[str(Path(models).absolute())] = Path(models).name
    # Skip the root of the file system, which is part of every path.
    for place in sorted((each for each in places if each != os.path.sep), key=len, reverse=True):
        text = text.replace(f"{place}{os.path.sep}", f"{places[place]}{os.path.sep}" if places[place] else "")
    return text


def path_label(path: Path) -> str:
    """Return a path as users see it, with "/" between its parts."""
    return without_server_paths(str(path)).replace(os.path.sep, "/")


def error_text(error: Exception | str) -> str:
    """Return Markdown of an error's message."""
    return markdown(without_server_paths(str(error)))
