"""Paths of files that are not Python modules, such as the built-in models.

In a checkout, these files are next to the packages; in an installation, they are in attention_atlas/.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / "attention_atlas"

# Folder that contains app.py, pages/, assets/ and .streamlit/. In an installation, pyproject.toml places them in
# attention_atlas/.
APP = INSTALLED if (INSTALLED / "app.py").is_file() else ROOT
ASSETS = APP / "assets"
# Built-in models: the translator, and the English language model.
MODEL = ASSETS / "models" / "en-de"
LANGUAGE_MODEL = ASSETS / "models" / "en"


def measurement_file(folder: Path, name: str) -> Path:
    """Return the path of a file with measurements of a model.

    For the built-in translator, the file is in assets/; for other models, it is in the model folder. For a training
    checkpoint, it is next to the weights file, and its name is that of the weights file with another extension.

    Args:
        folder: model folder, or a checkpoint's weights file.
        name: name of the measurements file.
    """
    if folder.is_file():
        return folder.with_suffix(f".{name}")
    return (ASSETS if folder == MODEL else folder) / name
