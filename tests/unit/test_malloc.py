"""What the C library hands back to the system."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from transformer.malloc import return_holes

# Below the size from which glibc maps a block by itself, so that it lies in the heap.
BLOCK, BLOCKS = 60_000, 2_000


def resident() -> float:
    """MB of this process in memory."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is another one")
def test_holes_between_blocks_in_use_are_handed_back():
    blocks: list[bytearray | None] = [bytearray(b"x") * BLOCK for _ in range(BLOCKS)]
    for number in range(BLOCKS):
        if number % 10:
            blocks[number] = None
    before = resident()
    return_holes()
    assert resident() < before - 0.5 * BLOCK * BLOCKS / 2**20 and blocks[0] is not None
