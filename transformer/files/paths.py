"""Paths of files that are not Python modules, such as the shipped models.

In a checkout, such files are next to the packages; in an installation, they are in attention_atlas/.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / "attention_atlas"

# The folder of app.py, pages/, assets/ and .streamlit/. When the project is installed, pyproject.toml puts them there.
APP = INSTALLED if (INSTALLED / "app.py").is_file() else ROOT
ASSETS = APP / "assets"
# The models that come with the project: the translator, and the English language model.
MODEL = ASSETS / "models" / "en-de"
LANGUAGE_MODEL = ASSETS / "models" / "en"


def measurement_file(folder: Path, name: str) -> Path:
    """Return the path of a file with a model's measurements.

    The file is in assets/ for the shipped translator, otherwise in the model folder. For a training checkpoint, it is
    next to the weights file, whose name is the prefix.

    Args:
        folder: model folder, or a checkpoint's weights file.
        name: name of the measurements file.
    """
    if folder.is_file():
        return folder.with_suffix(f".{name}")
    return (ASSETS if folder == MODEL else folder) / name
