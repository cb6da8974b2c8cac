"""Experiments: runs of a model with the numbers that they are claimed to give, stored in a small file.

The file is JSON. A figure can contain the same text, compressed and in base64, after `MARK`, wherever the format of the
figure has room for text.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import numpy as np
from msgspec import Raw, Struct

from transformer import __version__
from transformer.errors import ExperimentError
from transformer.files.experiment_mark import CARRIED, MARK
from transformer.files.small_files import MEGABYTE
from transformer.running.wire_form import RequestError, decoded, read_run, write_run
from transformer.values.run import Run, Stated

# Increase this whenever the form of the file or its meaning changes.
VERSION = 1
# Maximum size of an experiment, and of a figure that contains one, in bytes.
MAX_BYTES, MAX_FIGURE = MEGABYTE // 4, 32 * MEGABYTE
# Maximum number of runs in an experiment. A page has fewer than ten, and each may take seconds.
MAX_RUNS = 50
# Maximum number of experiments in one file, which may be a list of slides.
MAX_CARRIED = 60
# Relative tolerance within which numbers count as the same; for numbers below 1 it is absolute.
TOLERANCE = 1e-5
DIGITS = 9


class ClaimedValue(Struct, frozen=True, forbid_unknown_fields=True):
    """A claimed result: a number, nested lists of numbers (null for NaN), or a text; with a tolerance for numbers."""

    value: float | str | list[Any]
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < math.inf:
            raise ValueError("a tolerance is not a number from 0")
        if not isinstance(self.value, str):
            np.array(self.value, dtype=float)

    @classmethod
    def of(cls, value: Stated) -> ClaimedValue:
        """Return the claim that a run gives this value."""
        return cls(value if isinstance(value, str) else _rounded(np.asarray(value, dtype=float).tolist()))


@dataclass(frozen=True)
class ClaimedRun:
    """A run in an experiment, with its claimed results.

    Attributes:
        label: name of the run in the experiment; may be empty.
        run: the run.
        claims: claimed values of its result, by name.
    """

    label: str
    run: Run[Any]
    claims: Mapping[str, ClaimedValue]

    @classmethod
    def of(cls, label: str, run: Run[Any], result: Any) -> ClaimedRun:
        """Return the claim that a run gives this result."""
        return cls(label, run, {name: ClaimedValue.of(value) for name, value in run.states(result).items()})


class _WrittenRun(Struct, forbid_unknown_fields=True):
    label: str
    run: Raw
    claims: dict[str, ClaimedValue]


class _Versioned(Struct):
    experiment: int


class _File(_Versioned, forbid_unknown_fields=True):
    program: str
    model: str
    name: str
    page: str
    parts: list[_WrittenRun]


@dataclass(frozen=True)
class Experiment:
    """Several runs with their claimed numbers.

    Attributes:
        model: version of the model that computed the numbers.
        name: name of the model's folder; empty if it has no folder.
        page: address of the page that shows the runs, without its host; empty if there is no such page.
        parts: the runs.
    """

    model: str
    name: str
    page: str
    parts: tuple[ClaimedRun, ...]

    def to_json(self) -> str:
        parts = [_WrittenRun(each.label, write_run(each.run), dict(each.claims)) for each in self.parts]
        written = _File(VERSION, f"Attention Atlas {__version__}", self.model, self.name, self.page, parts)
        return msgspec.json.format(msgspec.json.encode(written), indent=1).decode()

    def carried(self) -> str:
        """Return the text to store in a figure."""
        return MARK + base64.b64encode(zlib.compress(self.to_json().encode(), level=9)).decode()

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read an experiment from a file, or the first one from a file that contains several. The content is untrusted.

        Raises:
            ExperimentError: the content is not an experiment, or is one of a newer version.
            AtlasError: a run's arguments contradict each other.
        """
        return cls._of(_texts(content)[0])

    @classmethod
    def read_all(cls, content: bytes) -> tuple[Self, ...]:
        """Read all experiments in a file, such as a list of slides; raises the errors of `read`."""
        return tuple(map(cls._of, _texts(content)))

    @classmethod
    def _of(cls, text: bytes) -> Self:
        if len(text) > MAX_BYTES:
            raise ExperimentError(f"The experiment is larger than the {MAX_BYTES // 1024} kB that one may have.")
        try:
            version = decoded(text, _Versioned).experiment
            if version > VERSION:
                raise ExperimentError(
                    f"The experiment has version {version}, but this program reads versions up to {VERSION}: update "
                    "Attention Atlas."
                )
            file: _File = decoded(text, _File)
            if len(file.parts) > MAX_RUNS:
                raise ExperimentError(f"The experiment has {len(file.parts)} runs: at most {MAX_RUNS} are computed.")
            parts = tuple(ClaimedRun(each.label, read_run(each.run, Run), each.claims) for each in file.parts)
        except RequestError as error:
            raise ExperimentError(
                f"The file is not an experiment of Attention Atlas, or is damaged ({error})."
            ) from error
        return cls(file.model, file.name, file.page, parts)


def _texts(content: bytes) -> list[bytes]:
    """Return the distinct experiments of a file, at least one."""
    if len(content) > MAX_FIGURE:
        raise ExperimentError(f"The file is larger than the {MAX_FIGURE // MEGABYTE} MB that a figure may have.")
    if content.lstrip().startswith(b"{"):
        return [content]
    # Latin-1 gives every byte a character, so that the text in a picture is found.
    carried = [*dict.fromkeys(CARRIED.findall(content.decode("latin-1")))]
    if not carried:
        raise ExperimentError(
            "The file carries no experiment: give one that “Save as” of a page of “Ask” saved, or a figure from there."
        )
    if len(carried) > MAX_CARRIED:
        raise ExperimentError(f"The file carries {len(carried)} experiments: at most {MAX_CARRIED} are computed.")
    # In a PNG, a checksum follows, whose bytes may look like more of the text. Base64 has groups of four characters.
    whole = (each[: len(each) // 4 * 4] for each in carried)
    try:
        # Stop decompressing as soon as the text is longer than an experiment may be.
        return [zlib.decompressobj().decompress(base64.b64decode(each), MAX_BYTES + 1) for each in whole]
    except (ValueError, zlib.error):
        raise ExperimentError("The experiment in this file is damaged: save the file again.") from None


def _rounded(value: float | Sequence[Any] | None) -> Any:
    if isinstance(value, Sequence):
        return [*map(_rounded, value)]
    return None if value is None or math.isnan(value) else float(f"{value:.{DIGITS}g}")
