"""Where the files are that are not Python: beside this package in a checkout, in attention_atlas/ when installed."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
INSTALLED = ROOT / "attention_atlas"

# The folder of app.py, pages/, assets/ and .streamlit/; pyproject.toml puts them there.
APP = INSTALLED if INSTALLED.is_dir() else ROOT
ASSETS = APP / "assets"
# The models that ship: the one that translates, and the one that writes on in English.
MODEL = ASSETS / "models" / "en-de"
LANGUAGE_MODEL = ASSETS / "models" / "en"
