"""Records written by a command; those about many sentences are used only if they belong to the loaded model."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from pages.ui.text.server_paths import path_label
from transformer.analysis.heads.gallery import Gallery
from transformer.analysis.heads.statistics import Statistics
from transformer.checkpoints.available_models import SENTENCES
from transformer.files.paths import ASSETS, MODEL, measured_file
from transformer.files.records import Record
from transformer.files.small_files import read_small_text
from transformer.running.translator import Translator
from transformer.surveys.agreement import AgreementStatistics
from transformer.surveys.importance import ImportanceStatistics
from transformer.surveys.paths import PathStatistics
from transformer.surveys.removal import RemovalQuality

ModelRecord = TypeVar("ModelRecord", bound=Record)


@dataclass(frozen=True)
class Recording(Generic[ModelRecord]):
    """A record file that a command writes.

    Attributes:
        path: the path of the file.
        read: parses the file's text into a record.
        command: the command that writes the file.
    """

    path: Path
    read: Callable[[str], ModelRecord]
    command: str

    def beside(self, translator: Translator) -> Recording[ModelRecord]:
        """Return the recording of a model: in assets/ for the shipped model, else with the model's own files."""
        folder = translator.folder
        if folder is None or folder == MODEL:
            return self
        shown, path = path_label(folder), measured_file(folder, self.path.name)
        command = re.sub(
            r"assets/(\S+)", lambda file: shlex.quote(path_label(measured_file(folder, file[1]))), self.command
        )
        options = f" --model {shlex.quote(shown)}"
        if (folder / SENTENCES).is_file() and "--data" not in command:
            options += f" --sentences {shlex.quote(path_label(folder / SENTENCES))}"
        return replace(self, path=path, command=command + options)

    def of_model(self, version: str) -> ModelRecord | None:
        """Return the record; None if there is no record, or if it belongs to another model.

        Args:
            version: the version of the translator's model.
        """
        found = read_record(self.path, self.read)
        return found if found is not None and found.model == version else None

    def missing(self, what: str) -> str:
        """Return a line of Markdown that is shown instead of missing measurements of the loaded model."""
        return f"{what} not measured for this model. To measure it, run `{self.command}`."


def read_record(path: Path, read: Callable[[str], ModelRecord]) -> ModelRecord | None:
    """Return the record in a file that a command wrote; None if the file is missing or invalid.

    Args:
        read: parses the file's text.
    """
    try:
        return _read(path, read, path.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


# This does not use `st.cache_resource`, because any browser can clear that cache.
@lru_cache(maxsize=32)
def _read(path: Path, read: Callable[[str], Any], changed: int) -> Any:
    """Read the record in a file; `changed`, the modification time, makes the cache notice a new version."""
    return read(read_small_text(path))


STATISTICS = Recording(
    ASSETS / "head_statistics.json",
    Statistics.from_json,
    "python -m transformer.analysis measure --output assets/head_statistics.json",
)
GALLERY = Recording(
    ASSETS / "head_gallery.json",
    Gallery.from_json,
    "python -m transformer.analysis gallery --output assets/head_gallery.json",
)
IMPORTANCE = Recording(
    ASSETS / "head_importance.json",
    ImportanceStatistics.from_json,
    "attention-atlas importance --output assets/head_importance.json",
)
REMOVAL = Recording(
    ASSETS / "head_removal.json",
    RemovalQuality.from_json,
    "attention-atlas removal --data dev.tsv.gz --importance assets/head_importance.json --every 16 "
    "--output assets/head_removal.json",
)
AGREEMENT = Recording(
    ASSETS / "method_agreement.json",
    AgreementStatistics.from_json,
    "attention-atlas agreement --output assets/method_agreement.json",
)
PATHS = Recording(
    ASSETS / "path_effects.json", PathStatistics.from_json, "attention-atlas paths --output assets/path_effects.json"
)
