"""Reads and writes safetensors files, and sealed files, which also contain a checksum of their whole content."""

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

from transformer.files.atomic_writes import atomic_file

# Format version of sealed files. In format 1, the checksum was missing or did not cover all data needed to resume.
FORMAT = "2"


@dataclass(frozen=True, eq=False)
class SealedTensors:
    """The content of a file written by `write_sealed`, without its checksum.

    Attributes:
        tensors: tensors by name.
        notes: metadata, which the file stores as JSON.
    """

    tensors: Mapping[str, Tensor]
    notes: Mapping[str, Any]


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file atomically.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    with atomic_file(path) as file:
        save_file(dict(tensors), file, dict(metadata))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the tensors and the metadata of a safetensors file.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is damaged, or not a safetensors file.
    """
    with open_tensors(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


@contextmanager
def open_tensors(path: Path) -> Iterator[Any]:
    """Context manager that opens a safetensors file for reading.

    Raises:
        FileNotFoundError, ValueError: as in `read_tensors`.
    """
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise ValueError(f"the contents are damaged or incomplete ({error})") from error


def write_sealed(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, Any]) -> None:
    """Write a sealed file atomically.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    encoded_notes = json.dumps(dict(notes))
    write_tensors(path, tensors, {"format": FORMAT, "notes": encoded_notes, "seal": _seal(tensors, encoded_notes)})


def read_sealed(path: Path, names: Collection[str], advice: str) -> SealedTensors:
    """Read and verify a sealed file.

    Args:
        path: file written by `write_sealed`.
        names: keys that the notes must have; they identify the type of sealed file.
        advice: what the user can do about an unusable file; appended to the error message.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is damaged or from another version, or its notes have other keys.
    """
    # Raises FileNotFoundError only if nothing exists at `path`. A dangling link counts as damaged, not as missing.
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
    encoded_notes = metadata.get("notes", "")
    if metadata.get("seal") != _seal(tensors, encoded_notes):
        raise ValueError(f"the file {path} was altered or damaged: {advice}")
    notes = json.loads(encoded_notes)
    if notes.keys() != set(names):
        raise ValueError(f"the file {path} is not the expected type of file: {advice}")
    return SealedTensors(tensors, notes)


def seal_of(path: Path) -> str:
    """Return the checksum stored in a sealed file. Call `read_sealed` first to verify the file."""
    return read_tensors(path)[1]["seal"]


def _seal(tensors: Mapping[str, Tensor], notes: str) -> str:
    digest = hashlib.sha256(notes.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def bytes_of(tensor: Tensor) -> memoryview:
    """Return a tensor's data as raw bytes."""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data
