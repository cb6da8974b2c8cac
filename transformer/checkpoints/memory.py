"""Computes how much memory a model needs, and how much memory is available."""

import json
import os
import struct
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

from transformer.errors import CheckpointError

# On Linux, the file that states the machine's memory, and the folder with the container's limits (cgroup v2).
MACHINE_FILE, CONTAINER_FOLDER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
# Bytes per number in a file, by safetensors type. In memory, a model on the CPU takes BYTES_IN_MEMORY bytes per number
# (float32). Weight copies that speed up matrix products take BYTES_OF_COPY more bytes per number.
BYTES = {"F16": 2, "BF16": 2, "F32": 4}
BYTES_IN_MEMORY = 4
BYTES_OF_COPY = 2
# During loading, memory holds this many copies of the file's content: the tensors, and the bytes for the digest.
# With BYTES_IN_MEMORY and BYTES_OF_COPY, loading a float16 file takes at most 2 * 2 + 4 + 2 = 10 bytes per number.
# benchmarks/marian.py measures the memory that a model of 77 million parameters takes.
READING_FACTOR = 2
# Largest header in bytes; safetensors rejects longer ones.
MAX_HEADER = 100_000_000
# Maximum number of dimensions, and maximum size of each dimension. No model exceeds these limits, and they keep the
# product of the sizes cheap to compute.
MAX_SIZES, LARGEST_SIZE = 8, 2**48


def memory_needed(weights: Path) -> int:
    """Return the peak memory, in bytes, for loading a model, computed from the safetensors header.

    If `weights` is not a valid safetensors file, return 0: the loading code reports this error.

    Raises:
        CheckpointError: a tensor has an impossible shape.
    """
    return sum(memory_of(count, bytes_each)[1] for count, bytes_each in _tensors(weights))


def memory_of(count: int, bytes_each: int) -> tuple[int, int]:
    """Return how much memory a model's weights take after loading, and at the peak during loading, in bytes.

    Args:
        count: number of parameters.
        bytes_each: bytes per parameter in the file.
    """
    return count * BYTES_IN_MEMORY, count * (BYTES_IN_MEMORY + BYTES_OF_COPY + READING_FACTOR * bytes_each)


def memory_message(weights: Sequence[Path]) -> tuple[int, str]:
    """Return the peak memory, in bytes, for loading a model's weight files, and a message about it for the user.

    Raises:
        CheckpointError: as in `memory_needed`.
    """
    count = sum(numbers for path in weights for numbers, _ in _tensors(path))
    needed = sum(map(memory_needed, weights))
    return needed, (
        f"{count / 1e6:,.0f} million parameters: {gigabytes(count * BYTES_IN_MEMORY)} of memory, and up to "
        f"{gigabytes(needed)} while they are being loaded"
    )


def _tensors(weights: Path) -> list[tuple[int, int]]:
    """Return each tensor's number of elements and bytes per element; empty if the file is not valid safetensors."""
    try:
        with weights.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(size, MAX_HEADER)))
        tensors = [
            (each["shape"], BYTES.get(each["dtype"], BYTES_IN_MEMORY))
            for name, each in header.items()
            if name != "__metadata__"
        ]
        held = weights.stat().st_size
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error):
        return []
    if not all(_is_shape(shape) for shape, _ in tensors):
        raise CheckpointError(f"The file {weights} is damaged: a tensor has an impossible shape. Fetch it again.")
    counts = [(prod(shape), bytes_each) for shape, bytes_each in tensors]
    # If the header describes more bytes than the file contains, the file is damaged, so its counts are not used.
    return counts if sum(count * bytes_each for count, bytes_each in counts) <= held else []


def _is_shape(shape: object) -> bool:
    return (
        isinstance(shape, list)
        and len(shape) <= MAX_SIZES
        and all(type(size) is int and 0 <= size <= LARGEST_SIZE for size in shape)
    )


def memory_available(machine: Path = MACHINE_FILE, container: Path = CONTAINER_FOLDER) -> int | None:
    """Return how many bytes the process can still allocate, including memory in reclaimable caches; None if unknown."""
    room = [found for found in (_of_machine(machine), _of_container(container)) if found is not None]
    return min(room, default=None)


def check_memory(folder: Path, needed: int, available: int | None) -> None:
    """Reject a model that does not fit into memory.

    Raises:
        CheckpointError: the model needs more memory than is available; the message states both amounts.
    """
    if available is not None and needed > available:
        raise CheckpointError(
            f"The model in {folder} needs {gigabytes(needed)} of memory to load, but this machine has "
            f"{gigabytes(available)} free. Close other programs, or use a smaller model."
        )


def gigabytes(count: int) -> str:
    """Format a number of bytes in gigabytes, for a message."""
    return f"{count / 1e9:.1f} GB"


def _of_machine(path: Path) -> int | None:
    fields = _numbers(path, ":")
    if "MemAvailable" in fields:
        return fields["MemAvailable"] * 1024
    # Only Linux has /proc/meminfo. On other systems, all physical memory counts as available.
    names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
    if path == MACHINE_FILE and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_container(folder: Path) -> int | None:
    try:
        limit, used = int((folder / "memory.max").read_text()), int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        # There is no container, or the container has no limit ("max").
        return None
    return max(limit - used + _numbers(folder / "memory.stat", " ").get("inactive_file", 0), 0)


def _numbers(path: Path, separator: str) -> Mapping[str, int]:
    """Return the numbers, by name, in a file with lines such as "MemAvailable: 1024 kB"; {} if reading fails."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    parts = (line.partition(separator) for line in lines)
    return {name: int(value.split()[0]) for name, _, value in parts if value.split() and value.split()[0].isdecimal()}
