"""Reads the small files in a model folder, with size limits, and turns failures into one-line errors."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer.checkpoints.cards import MAX_BYTES, add_shortened_note
from transformer.checkpoints.learning_curve import check_curve
from transformer.errors import CheckpointError
from transformer.files.small_files import read_beginning, read_small, read_small_text

CARD = "README.md"
CURVE = "learning_curve.csv"
# In a training run's folder, a checkpoint's file name contains the step number, with at least seven digits.
STEP_WEIGHTS = re.compile(r"weights-([0-9]{7}|[1-9][0-9]{7,})\.safetensors")
RUN_MODEL = "model"
REPAIR_ADVICE = "Fetch the model folder again, or train a new model with `python -m transformer.training`."


def files_of_model(path: Path) -> Path:
    """Return the folder with a model's configuration and vocabulary.

    Args:
        path: model folder, or a training checkpoint's weights file.
    """
    return path.parent / RUN_MODEL if STEP_WEIGHTS.fullmatch(path.name) else path


def read_bytes(path: Path) -> bytes:
    """Read a required file of a model folder.

    Raises:
        CheckpointError: the file is missing or too large, or cannot be read.
    """
    with reading_errors_explained(path):
        return read_small(path)


def read_text(path: Path) -> str:
    """Read a required text file of a model folder.

    Raises:
        CheckpointError: as in `read_bytes`, or the file is not UTF-8.
    """
    with reading_errors_explained(path):
        return read_small_text(path)


def read_card(folder: Path) -> str:
    """Read a model folder's card, shortened if it is too long for a page; return "" if there is no card.

    Raises:
        CheckpointError: the card is not text, or cannot be read.
    """
    path = folder / CARD
    if not os.path.lexists(path):
        return ""
    with reading_errors_explained(path):
        return add_shortened_note(*read_beginning(path, MAX_BYTES))


def read_curve(folder: Path) -> str:
    """Read a model folder's learning curve; return "" if there is none.

    Raises:
        CheckpointError: the file is not a learning curve, or cannot be read.
    """
    path = folder / CURVE
    curve = read_text(path) if os.path.lexists(path) else ""
    try:
        check_curve(curve)
    except ValueError as error:
        raise CheckpointError(f"The learning curve {path} is damaged: {error}. {REPAIR_ADVICE}") from error
    return curve


@contextmanager
def reading_errors_explained(path: Path) -> Iterator[None]:
    """Context manager that turns an OSError or ValueError, raised while a file is read, into a CheckpointError.

    Args:
        path: file to read, named in the error message.

    Raises:
        CheckpointError: the file is missing, cannot be read, or is invalid.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CheckpointError(f"The file {path} is missing. {REPAIR_ADVICE}") from error
    except OSError as error:
        raise CheckpointError(f"The file {path} cannot be read ({error.strerror}). {REPAIR_ADVICE}") from error
    except ValueError as error:
        raise CheckpointError(f"The file {path} cannot be used: {error}. {REPAIR_ADVICE}") from error
