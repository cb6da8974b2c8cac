"""Experiments: model runs with their claimed results, stored in a small file.

The file is JSON. A figure file can contain the same JSON, compressed and base64-encoded, after `MARK`, anywhere that
the figure's format allows text.
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
from transformer.files.experiment_mark import EMBEDDED, MARK
from transformer.files.small_files import MEGABYTE
from transformer.running.wire_form import RequestError, decoded, read_run, write_run
from transformer.values.run import Run, Stated

# Increase this whenever the file format or its meaning changes.
VERSION = 1
# Maximum size of an experiment, and of a figure file that contains an experiment, in bytes.
MAX_BYTES, MAX_FIGURE_BYTES = MEGABYTE // 4, 32 * MEGABYTE
# Maximum number of model runs in an experiment. Pages save fewer than ten, and each run may take seconds.
MAX_RUNS = 50
# Maximum number of experiments in one file. A slide list contains one experiment per slide.
MAX_EXPERIMENTS = 60
# Relative tolerance within which numbers count as equal. For magnitudes below 1, the tolerance is absolute.
TOLERANCE = 1e-5
DIGITS = 9


class ClaimedValue(Struct, frozen=True, forbid_unknown_fields=True):
    """A claimed result: a number, nested lists of numbers, or a text.

    Attributes:
        value: the claimed value; None in a list stands for NaN.
        tolerance: largest accepted error of a number, defined as for `TOLERANCE`.
    """

    value: float | str | list[Any]
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"the tolerance must be a finite number of at least 0, not {self.tolerance}")
        if not isinstance(self.value, str):
            np.array(self.value, dtype=float)

    @classmethod
    def of(cls, value: Stated) -> ClaimedValue:
        """Build a claim from an actual value, rounded to DIGITS significant digits."""
        return cls(value if isinstance(value, str) else _rounded(np.asarray(value, dtype=float).tolist()))


@dataclass(frozen=True)
class ClaimedRun:
    """A model run in an experiment, with claimed results.

    Attributes:
        label: name of the model run within the experiment; may be empty.
        run: the model run.
        claims: claimed values of the run's result, by name.
    """

    label: str
    run: Run[Any]
    claims: Mapping[str, ClaimedValue]

    @classmethod
    def of(cls, label: str, run: Run[Any], result: Any) -> ClaimedRun:
        """Build a `ClaimedRun` that claims the run's actual result."""
        return cls(label, run, {name: ClaimedValue.of(value) for name, value in run.states(result).items()})


class _WrittenRun(Struct, forbid_unknown_fields=True):
    label: str
    run: Raw
    claims: dict[str, ClaimedValue]


class _FileVersion(Struct):
    experiment: int


class _File(_FileVersion, forbid_unknown_fields=True):
    program: str
    model: str
    name: str
    page: str
    parts: list[_WrittenRun]


@dataclass(frozen=True)
class Experiment:
    """Model runs with their claimed results.

    Attributes:
        model: version of the model that computed the results.
        name: name of the model's folder; empty if the model has no folder.
        page: URL, without the host, of the page that shows the model runs; empty if there is no such page.
        parts: the model runs with their claims.
    """

    model: str
    name: str
    page: str
    parts: tuple[ClaimedRun, ...]

    def to_json(self) -> str:
        parts = [_WrittenRun(part.label, write_run(part.run), dict(part.claims)) for part in self.parts]
        file = _File(VERSION, f"Attention Atlas {__version__}", self.model, self.name, self.page, parts)
        return msgspec.json.format(msgspec.json.encode(file), indent=1).decode()

    def embedded_text(self) -> str:
        """Return the text that embeds the experiment in a figure file."""
        return MARK + base64.b64encode(zlib.compress(self.to_json().encode(), level=9)).decode()

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Parse the first experiment in a file. The content is untrusted.

        Raises:
            ExperimentError: the file contains no valid experiment, or one whose version is too new for this program.
            AtlasError: a model run's arguments contradict each other.
        """
        return cls._of(_texts(content)[0])

    @classmethod
    def read_all(cls, content: bytes) -> tuple[Self, ...]:
        """Parse all experiments in a file, such as a slide list; raises the same errors as `read`."""
        return tuple(map(cls._of, _texts(content)))

    @classmethod
    def _of(cls, text: bytes) -> Self:
        if len(text) > MAX_BYTES:
            raise ExperimentError(f"The experiment is larger than {MAX_BYTES // 1024} kB, the limit for an experiment.")
        try:
            version = decoded(text, _FileVersion).experiment
            if version > VERSION:
                raise ExperimentError(
                    f"The experiment has version {version}, but this program reads versions up to {VERSION}: update "
                    "Attention Atlas."
                )
            file: _File = decoded(text, _File)
            if len(file.parts) > MAX_RUNS:
                raise ExperimentError(f"The experiment has {len(file.parts)} runs; the limit is {MAX_RUNS}.")
            parts = tuple(ClaimedRun(part.label, read_run(part.run, Run), part.claims) for part in file.parts)
        except RequestError as error:
            raise ExperimentError(f"The file is not an Attention Atlas experiment, or is damaged ({error}).") from error
        return cls(file.model, file.name, file.page, parts)


def _texts(content: bytes) -> list[bytes]:
    """Return the distinct experiments in a file as JSON texts; the list is never empty."""
    if len(content) > MAX_FIGURE_BYTES:
        raise ExperimentError(f"The file is larger than {MAX_FIGURE_BYTES // MEGABYTE} MB, the limit for a figure.")
    if content.lstrip().startswith(b"{"):
        return [content]
    # Latin-1 maps every byte to a character, so the pattern also finds text inside an image file.
    carried = [*dict.fromkeys(EMBEDDED.findall(content.decode("latin-1")))]
    if not carried:
        raise ExperimentError(
            "The file contains no experiment: use a file or figure saved with “Save as” on an “Ask” page."
        )
    if len(carried) > MAX_EXPERIMENTS:
        raise ExperimentError(f"The file contains {len(carried)} experiments; the limit is {MAX_EXPERIMENTS}.")
    # In a PNG, a checksum follows the text and may look like more base64. The length of valid base64 is a multiple of
    # four, so cut off any excess characters.
    whole = (each[: len(each) // 4 * 4] for each in carried)
    try:
        # Limit the output, because a small malicious file could decompress to gigabytes.
        return [zlib.decompressobj().decompress(base64.b64decode(each), MAX_BYTES + 1) for each in whole]
    except (ValueError, zlib.error):
        raise ExperimentError("The experiment in this file is damaged: save a new copy from the app.") from None


def _rounded(value: float | Sequence[Any] | None) -> Any:
    if isinstance(value, Sequence):
        return [*map(_rounded, value)]
    return None if value is None or math.isnan(value) else float(f"{value:.{DIGITS}g}")
