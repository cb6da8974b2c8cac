"""Lists the files of lessons: the built-in ones, and a teacher's in the folder `lessons` where the app was started."""

from __future__ import annotations

import re
from pathlib import Path

from transformer.files.paths import ASSETS
from transformer.files.small_files import read_small
from transformer.lessons.document import read_document

SHIPPED = ASSETS / "lessons"
OWN = Path("lessons")
ID = re.compile("[a-z][a-z0-9_]{0,59}")
# Maximum number of steps of a lesson, and maximum size of its file in bytes.
MAX_STEPS, MAX_BYTES = 7, 50_000


def id_of(path: Path) -> str:
    """Return the name of a lesson in an address: one_row for the file 02_one_row.toml."""
    return re.sub(r"^\d+_", "", path.stem)


def lesson_files() -> dict[str, Path]:
    """Return the files of all lessons by id: the built-in ones, then the others, each group sorted by name.

    If a teacher's lesson has the id of a built-in one, the built-in lesson is used.
    """
    paths = [*sorted(SHIPPED.glob("*.toml")), *sorted(OWN.glob("*.toml"))]
    files: dict[str, Path] = {}
    for path in paths:
        if ID.fullmatch(id_of(path)):
            files.setdefault(id_of(path), path)
    return files


def step_count(name: str) -> int:
    """Return the number of steps of a lesson; MAX_STEPS if its file is missing or invalid.

    This does not check the steps, because importing the code of the claims takes seconds.
    """
    try:
        steps = read_document(read_small(lesson_files()[name], MAX_BYTES).decode("utf-8")).get("steps")
    except (KeyError, OSError, ValueError):
        return MAX_STEPS
    return len(steps) if isinstance(steps, list) and steps else MAX_STEPS
