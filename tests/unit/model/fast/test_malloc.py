import ctypes
import mmap
import platform
import re
from pathlib import Path

import pytest

from transformer.model.fast.malloc import HUGE_PAGE, return_holes, use_huge_pages

# Block size in bytes, and number of blocks. Each block is so small that glibc allocates it on the heap instead of
# mapping it separately.
BLOCK, BLOCKS = 60_000, 2_000


def resident() -> float:
    """Return the resident memory of this process in MB."""
    return int(re.search(r"VmRSS:\s*(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))[1]) / 1024


def megabytes(kind: str, area: mmap.mmap) -> float:
    """Return a field of /proc/self/smaps, in MB, for the mapping that contains the start of an area."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for mapping in re.split(r"\n(?=\w+-\w+ )", Path("/proc/self/smaps").read_text(encoding="utf-8")):
        first, behind = (int(each, 16) for each in mapping.split(maxsplit=1)[0].split("-"))
        if first <= address < behind:
            return int(re.search(rf"^{kind}:\s*(\d+)", mapping, re.MULTILINE)[1]) / 1024
    raise AssertionError("the area is not mapped")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is another one")
def test_free_memory_between_used_blocks_is_returned_to_the_system():
    blocks: list[bytearray | None] = [bytearray(b"x") * BLOCK for _ in range(BLOCKS)]
    for number in range(BLOCKS):
        if number % 10:
            blocks[number] = None
    before = resident()
    return_holes()
    assert resident() < before - 0.5 * BLOCK * BLOCKS / 2**20 and blocks[0] is not None


def linux() -> tuple[int, ...]:
    """Return the major and minor version of the Linux kernel, or (0,) on other systems."""
    return tuple(map(int, platform.release().split(".")[:2])) if platform.system() == "Linux" else (0,)


@pytest.mark.skipif(linux() < (6, 1), reason="the system cannot move memory into huge pages")
def test_used_memory_moves_into_huge_pages_without_allocating_unused_memory():
    use_huge_pages()  # Converts the memory that was allocated before this test.
    count = 16
    used, sparse = (mmap.mmap(-1, count * HUGE_PAGE, flags=mmap.MAP_PRIVATE) for _ in range(2))
    used.madvise(mmap.MADV_NOHUGEPAGE)  # Starts with small pages even if the system uses huge pages by default.
    used.write(b"x" * (count * HUGE_PAGE))
    used.madvise(mmap.MADV_HUGEPAGE)
    sparse[::HUGE_PAGE] = b"x" * count
    use_huge_pages()
    half = count * HUGE_PAGE / 2**20 / 2
    assert megabytes("AnonHugePages", used) > half and megabytes("Rss", sparse) < half
    assert used[:] == b"x" * (count * HUGE_PAGE) and sparse[::HUGE_PAGE] == b"x" * count
