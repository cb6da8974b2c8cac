"""Removes the server's folder names from texts shown to users."""

import os
from pathlib import Path

from pages.ui.text.markup import markdown
from transformer.checkpoints.available_models import FOLDER_VARIABLE
from transformer.files.paths import APP


def without_server_paths(text: str) -> str:
    """Make paths in a text relative to the app's folder, working directory, home directory or models folder."""
    places = {str(APP): "", os.getcwd(): "", str(Path.home()): "~"}
    if models := os.environ.get(FOLDER_VARIABLE):
        places[str(Path(models).absolute())] = Path(models).name
    # Skip the root directory, which is a prefix of every path.
    for place in sorted((each for each in places if each != os.path.sep), key=len, reverse=True):
        text = text.replace(f"{place}{os.path.sep}", f"{places[place]}{os.path.sep}" if places[place] else "")
    return text


def path_label(path: Path) -> str:
    """Return a path in the form shown to users: without server folders, and with "/" as the separator."""
    return without_server_paths(str(path)).replace(os.path.sep, "/")


def error_text(error: Exception | str) -> str:
    """Return an error's message as Markdown, without server paths."""
    return markdown(without_server_paths(str(error)))
