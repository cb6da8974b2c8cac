"""Reads recorded measurements from files, and ignores measurements of models other than the loaded one."""

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
from transformer.files.paths import ASSETS, MODEL, measurement_file
from transformer.files.records import Record
from transformer.files.small_files import read_small_text
from transformer.measurements.agreement import AgreementStatistics
from transformer.measurements.importance import ImportanceStatistics
from transformer.measurements.paths import PathStatistics
from transformer.measurements.removal import RemovalQuality
from transformer.running.translator import Translator

ModelRecord = TypeVar("ModelRecord", bound=Record)


@dataclass(frozen=True)
class Recording(Generic[ModelRecord]):
    """A record file, and the command that writes it.

    Attributes:
        path: the path of the file.
        read: parses the file's text into a record.
        command: the command that writes the file.
    """

    path: Path
    read: Callable[[str], ModelRecord]
    command: str

    def beside(self, translator: Translator) -> Recording[ModelRecord]:
        """Return a model's version of this recording; its file is in assets/ (shipped model) or the model's folder."""
        folder = translator.folder
        if folder is None or folder == MODEL:
            return self
        label, path = path_label(folder), measurement_file(folder, self.path.name)
        command = re.sub(
            r"assets/(\S+)", lambda file: shlex.quote(path_label(measurement_file(folder, file[1]))), self.command
        )
        options = f" --model {shlex.quote(label)}"
        if (folder / SENTENCES).is_file() and "--data" not in command:
            options += f" --sentences {shlex.quote(path_label(folder / SENTENCES))}"
        return replace(self, path=path, command=command + options)

    def of_model(self, version: str) -> ModelRecord | None:
        """Return the record; None if the file is missing or invalid, or belongs to another model.

        Args:
            version: the version of the loaded model.
        """
        record = read_record(self.path, self.read)
        return record if record is not None and record.model == version else None

    def missing(self, what: str) -> str:
        """Return a Markdown line, shown in place of missing measurements, that names the command to run."""
        return f"{what} not been measured for this model. For the measurement, run `{self.command}`."


def read_record(path: Path, read: Callable[[str], ModelRecord]) -> ModelRecord | None:
    """Return the record in a file; None if the file is missing or invalid.

    Args:
        read: parses the file's text.
    """
    try:
        return _read(path, read, path.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


# `st.cache_resource` is unsuitable, because any user can clear its cache from the browser.
@lru_cache(maxsize=32)
def _read(path: Path, read: Callable[[str], Any], changed: int) -> Any:
    """Read a record file. `changed` is the file's modification time; it makes the cache read a changed file again."""
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
