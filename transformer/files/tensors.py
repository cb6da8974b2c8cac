"""Reads and writes tensors in safetensors files, with a seal if a file must prove that it is unchanged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from transformer.files.replacing import replaced

# Format of sealed files. Format 1 had no seal, or none that covers the data to continue from.
FORMAT = "2"


@dataclass(frozen=True, eq=False)
class SealedTensors:
    """The content of a sealed file.

    Attributes:
        tensors: tensors by name.
        notes: metadata in JSON.
    """

    tensors: Mapping[str, Tensor]
    notes: Mapping[str, Any]


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a file, as a whole or not at all.

    Raises:
        OSError: it cannot be written; an old one stays.
    """
    with replaced(path) as file:
        save_file(dict(tensors), file, dict(metadata))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a file.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: it is damaged, or not a safetensors file.
    """
    with opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file, open for reading.

    Raises:
        FileNotFoundError, ValueError: as in `read_tensors`.
    """
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise ValueError(f"it is damaged or incomplete ({error})") from error


def write_sealed(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, Any]) -> None:
    """Write a sealed file, as a whole or not at all.

    Raises:
        OSError: it cannot be written; an old one stays.
    """
    written = json.dumps(dict(notes))
    write_tensors(path, tensors, {"format": FORMAT, "notes": written, "seal": _seal(tensors, written)})


def read_sealed(path: Path, names: Collection[str], advice: str) -> SealedTensors:
    """Read a file of `write_sealed`.

    Args:
        names: names of the notes that the file must have, which distinguish it from others.
        advice: what to do about an unusable file, for the end of the message.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: it is damaged, or has other content.
    """
    # A dangling link is not a missing file: taking it for one would start from the beginning.
    path.lstat()
    try:
        tensors, metadata = read_tensors(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"the file {path} is damaged: {advice}") from error
    if metadata.get("format") != FORMAT:
        raise ValueError(
            f"the file {path} is damaged, or is from another version of Attention Atlas (its format is not {FORMAT}): "
            f"{advice}"
        )
    written = metadata.get("notes", "")
    if metadata.get("seal") != _seal(tensors, written):
        raise ValueError(f"the file {path} was altered or damaged: {advice}")
    notes = json.loads(written)
    if notes.keys() != set(names):
        raise ValueError(f"the file {path} does not have the content that its name says: {advice}")
    return SealedTensors(tensors, notes)


def seal_of(path: Path) -> str:
    """The seal of such a file that has been read: it changes with any part of the content."""
    return read_tensors(path)[1]["seal"]


def _seal(tensors: Mapping[str, Tensor], notes: str) -> str:
    """SHA-256 of both, hexadecimal."""
    digest = hashlib.sha256(notes.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def bytes_of(tensor: Tensor) -> memoryview:
    """The memory of a tensor's numbers."""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data
