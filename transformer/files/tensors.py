"""Tensors in safetensors files: written as a whole, and sealed where a file must show that it is as it was written."""

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

# Of sealed files; those of format 1 had no seal, or none that covers what they are continued with.
FORMAT = "2"


@dataclass(frozen=True, eq=False)
class SealedTensors:
    """What a sealed file holds.

    Attributes:
        tensors: by name.
        notes: what JSON can say of them.
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
        FileNotFoundError: there is none.
        ValueError: it is damaged, or no safetensors file.
    """
    with opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file, open for reading.

    Raises:
        FileNotFoundError, ValueError: as `read_tensors`.
    """
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise ValueError(f"it is damaged or half there ({error})") from error


def write_sealed(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, Any]) -> None:
    """Write a sealed file, as a whole or not at all.

    Raises:
        OSError: it cannot be written; an old one stays.
    """
    written = json.dumps(dict(notes))
    write_tensors(path, tensors, {"format": FORMAT, "notes": written, "seal": _seal(tensors, written)})


def read_sealed(path: Path, names: Collection[str], advice: str) -> SealedTensors:
    """Read what `write_sealed` wrote.

    Args:
        names: of the notes that the file must have, by which it is known from others.
        advice: what to do about a file that cannot be used, to end the message with.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, or something else.
    """
    # A link that leads nowhere is no missing file: whoever takes it for one begins again.
    path.lstat()
    try:
        tensors, metadata = read_tensors(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"the file {path} is damaged: {advice}") from error
    if metadata.get("format") != FORMAT:
        raise ValueError(
            f"the file {path} is damaged, or of another version of the Atlas: it is not format {FORMAT}: {advice}"
        )
    written = metadata.get("notes", "")
    if metadata.get("seal") != _seal(tensors, written):
        raise ValueError(f"the file {path} was altered or damaged: {advice}")
    notes = json.loads(written)
    if notes.keys() != set(names):
        raise ValueError(f"the file {path} holds something else than its name says: {advice}")
    return SealedTensors(tensors, notes)


def seal_of(path: Path) -> str:
    """The seal of such a file that has been read: it changes with anything that the file holds."""
    return read_tensors(path)[1]["seal"]


def _seal(tensors: Mapping[str, Tensor], notes: str) -> str:
    """SHA-256 of both, hexadecimal."""
    digest = hashlib.sha256(notes.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def bytes_of(tensor: Tensor) -> memoryview:
    """The numbers of a tensor as they are in memory."""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data
