"""Archives of arrays, .npz files, with a seal that shows whether they are as they were written."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from transformer.files.replacing import replaced

SEAL = "digest"
# What reading a damaged archive may end in.
DAMAGED = (ValueError, KeyError, TypeError, OSError, EOFError, RuntimeError, MemoryError, BadZipFile, zlib.error)


def write_archive(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an archive, as a whole or not at all.

    Raises:
        OSError: it cannot be written; an old one stays.
    """
    # Opened here, because numpy appends .npz to names that end otherwise.
    with replaced(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays, **{SEAL: as_bytes(_seal(arrays))})


def read_archive(path: Path) -> dict[str, np.ndarray]:
    """What `write_archive` wrote, by name.

    Raises:
        OSError: the file is missing, or cannot be read.
        ValueError: it was altered or damaged, or is something else; the message is one line.
    """
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            if as_text(arrays.pop(SEAL)) != _seal(arrays):
                raise ValueError("it is not as it was written")
        except DAMAGED as error:
            raise ValueError(str(error).partition("\n")[0] or type(error).__name__) from None
    return arrays


def as_bytes(text: str) -> np.ndarray:
    """A text as an array, uint8 [N]."""
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)


def as_text(array: np.ndarray) -> str:
    """The text that `as_bytes` made an array of."""
    return array.tobytes().decode("utf-8")


def _seal(arrays: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of arrays with their names, in hexadecimal digits."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(name.encode("ascii") + b"\0" + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()
