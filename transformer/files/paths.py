"""Paths of files that are not Python: beside the packages in a checkout, in attention_atlas/ when installed."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / "attention_atlas"

# The folder of app.py, pages/, assets/ and .streamlit/; pyproject.toml puts them there.
APP = INSTALLED if (INSTALLED / "app.py").is_file() else ROOT
ASSETS = APP / "assets"
# The models that ship: the translator, and the English language model.
MODEL = ASSETS / "models" / "en-de"
LANGUAGE_MODEL = ASSETS / "models" / "en"


def measured_file(folder: Path, name: str) -> Path:
    """A file of measurements of a model: in assets/ for the shipped model, else in its folder.

    If the model is a file, the weights of one step, the name of the measurements begins with that of the weights.
    """
    if folder.is_file():
        return folder.with_suffix(f".{name}")
    return (ASSETS if folder == MODEL else folder) / name
