"""Finds lesson files: the built-in ones, and those that a teacher puts in the working directory's `lessons` folder."""

import re
from pathlib import Path

from transformer.files.paths import ASSETS
from transformer.files.small_files import read_small
from transformer.lessons.document import read_document

SHIPPED_FOLDER = ASSETS / "lessons"
OWN_FOLDER = Path("lessons")
ID = re.compile("[a-z][a-z0-9_]{0,59}")
# Maximum number of steps in a lesson, and maximum size of a lesson file in bytes.
MAX_STEPS, MAX_BYTES = 7, 50_000


def id_of(path: Path) -> str:
    """Return a lesson's id for URLs: the file name without the leading number and the extension.

    The id of 02_one_row.toml is "one_row".
    """
    return re.sub(r"^\d+_", "", path.stem)


def lesson_files() -> dict[str, Path]:
    """Return all lesson files by id: first the built-in ones, then the teacher's, each group sorted by file name.

    If a teacher's lesson has the id of a built-in lesson, only the built-in lesson is returned. Files without a
    valid id are skipped.
    """
    paths = [*sorted(SHIPPED_FOLDER.glob("*.toml")), *sorted(OWN_FOLDER.glob("*.toml"))]
    files: dict[str, Path] = {}
    for path in paths:
        if ID.fullmatch(id_of(path)):
            files.setdefault(id_of(path), path)
    return files


def step_count(name: str) -> int:
    """Return the number of steps in a lesson, or MAX_STEPS if the lesson's file is missing or invalid.

    The steps are not validated, because validation imports the claims, which takes seconds.
    """
    try:
        steps = read_document(read_small(lesson_files()[name], MAX_BYTES).decode("utf-8")).get("steps")
    except (KeyError, OSError, ValueError):
        return MAX_STEPS
    return len(steps) if isinstance(steps, list) and steps else MAX_STEPS
