"""The folders of lessons: those that ship, and a teacher's in the folder `lessons` where the app is started."""

from __future__ import annotations

import re
from pathlib import Path

from transformer.files.paths import ASSETS
from transformer.files.small_files import read_small
from transformer.lessons.document import read_document

SHIPPED = ASSETS / "lessons"
OWN = Path("lessons")
ID = re.compile("[a-z][a-z0-9_]{0,59}")
# Limits of a lesson.
MAX_STEPS, MAX_BYTES = 7, 50_000


def id_of(path: Path) -> str:
    """The name of a lesson in an address: 02_one_row.toml is one_row."""
    return re.sub(r"^\d+_", "", path.stem)


def lesson_files() -> dict[str, Path]:
    """Return the files of all lessons by id: the built-in ones, then the others, each group sorted by name.

    A teacher's lesson does not replace one that ships under the same id.
    """
    paths = [*sorted(SHIPPED.glob("*.toml")), *sorted(OWN.glob("*.toml"))]
    files: dict[str, Path] = {}
    for path in paths:
        if ID.fullmatch(id_of(path)):
            files.setdefault(id_of(path), path)
    return files


def step_count(name: str) -> int:
    """The number of steps of a lesson; MAX_STEPS if its file is invalid.

    Only this number is read here, because importing the code of the claims takes seconds.
    """
    try:
        steps = read_document(read_small(lesson_files()[name], MAX_BYTES).decode("utf-8")).get("steps")
    except (KeyError, OSError, ValueError):
        return MAX_STEPS
    return len(steps) if isinstance(steps, list) and steps else MAX_STEPS
