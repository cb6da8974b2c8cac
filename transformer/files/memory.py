"""How much memory a model needs, and how much this machine has left."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path

from transformer.errors import CheckpointError

# Of a Linux machine, and of the container that a process runs in (cgroup v2).
MACHINE, CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
# Bytes of a number as safetensors calls its type, and as a model on the CPU holds it: in float32, and packed for matrix
# products in two more.
BYTES = {"F16": 2, "BF16": 2, "F32": 4}
HELD = 4
PACKED = 2
# How often the file itself is in memory meanwhile: its tensors, and its bytes for the digest. Of a model of 77 million
# parameters in float16, loading takes ten bytes each at most, as benchmarks/marian.py measures.
READ = 2
# Bytes; safetensors reads no longer header.
MOST_HEADER = 100_000_000
# Sizes of a tensor, and of each; no model has others, and what multiplies them stays quick.
MOST_SIZES, LARGEST_SIZE = 8, 2**48


def memory_needed(weights: Path) -> int:
    """Bytes that a model takes at most while it is loaded, from the header of its safetensors file.

    Returns:
        0 if it is no such file, which whoever reads it will say.

    Raises:
        CheckpointError: a tensor has a shape that none can have.
    """
    try:
        with weights.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(size, MOST_HEADER)))
        tensors = [
            (each["shape"], BYTES.get(each["dtype"], HELD)) for name, each in header.items() if name != "__metadata__"
        ]
        held = weights.stat().st_size
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error):
        return 0
    if not all(_possible(shape) for shape, _ in tensors):
        raise CheckpointError(f"The file {weights} is damaged: a tensor has an impossible shape. Fetch it again.")
    # A header that speaks of more than its file holds is damaged.
    if sum(prod(shape) * bytes_each for shape, bytes_each in tensors) > held:
        return 0
    return sum(prod(shape) * (HELD + PACKED + READ * bytes_each) for shape, bytes_each in tensors)


def _possible(shape: object) -> bool:
    """Whether what a header calls a shape can be one."""
    return isinstance(shape, list) and len(shape) <= MOST_SIZES and all(
        type(size) is int and 0 <= size <= LARGEST_SIZE for size in shape
    )


def memory_available(machine: Path = MACHINE, container: Path = CONTAINER) -> int | None:
    """Bytes that this process may still take, what the system would free for it included; None where nobody says."""
    room = [found for found in (_of_machine(machine), _of_container(container)) if found is not None]
    return min(room, default=None)


def check_memory(folder: Path, needed: int, available: int | None) -> None:
    """Refuse a model that does not fit.

    Raises:
        CheckpointError: it needs more than there is; the message has both numbers.
    """
    if available is not None and needed > available:
        raise CheckpointError(
            f"The model in {folder} needs {gigabytes(needed)} of memory to be loaded, and this machine has "
            f"{gigabytes(available)} free. Close other programs, or take a smaller model."
        )


def gigabytes(count: int) -> str:
    """A number of bytes, for a message."""
    return f"{count / 1e9:.1f} GB"


def _of_machine(path: Path) -> int | None:
    fields = _numbers(path, ":")
    if "MemAvailable" in fields:
        return fields["MemAvailable"] * 1024
    # Without Linux's file, all there is.
    names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
    if path == MACHINE and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_container(folder: Path) -> int | None:
    try:
        limit, used = int((folder / "memory.max").read_text()), int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        # No container, or one without a limit: "max".
        return None
    return max(limit - used + _numbers(folder / "memory.stat", " ").get("inactive_file", 0), 0)


def _numbers(path: Path, separator: str) -> Mapping[str, int]:
    """The lines of a file that are a name and a number."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    parts = (line.partition(separator) for line in lines)
    return {name: int(value.split()[0]) for name, _, value in parts if value.split() and value.split()[0].isdecimal()}
