"""Paths of the files that are not Python modules, such as the shipped models.

In a checkout they are beside the packages; after installation they are in attention_atlas/.
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


def measured_file(folder: Path, name: str) -> Path:
    """Path of a file of measurements of a model: in assets/ for the shipped translator, else in the model's folder.

    If the model is a file, the weights of one step, the name of the measurements begins with that of the weights.
    """
    if folder.is_file():
        return folder.with_suffix(f".{name}")
    return (ASSETS if folder == MODEL else folder) / name
