"""Tunes glibc's memory allocator and uses huge pages.

For training, glibc is set to keep freed memory for reuse. For a server, glibc is set to return large blocks to the
system as soon as they are freed. `return_holes` also returns the free memory between blocks in use.
"""

import ctypes
import platform
import re
from pathlib import Path

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8

MADV_COLLAPSE = 25
HUGE_PAGE = 1 << 21
# A memory mapping is moved into huge pages only if more than this fraction of the mapping is in physical memory.
IN_USE = 0.9
# Matches a memory mapping without a file, such as the heap, in /proc/self/smaps. The groups are the start address, the
# end address, and the number of kB in physical memory.
MAPPING = re.compile(r"^(\w+)-(\w+) rw-p 00000000 00:00 0 *(?:\[heap\])?\n(?:.*\n)*?Rss: *(\d+) kB$", re.MULTILINE)


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks instead of mapping and clearing fresh pages for every tensor.

    With glibc's default settings, page faults take half the time of a training step on a CPU. On systems without glibc,
    this function does nothing, because their allocators keep memory anyway.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


def return_freed_memory() -> None:
    """Let glibc return large blocks to the system as soon as they are freed, and make all threads share two heaps.

    Each session of a server runs in a thread. By default, each thread has its own heap, in which freed arrays leave
    holes, so 300 sentences take 240 MB instead of 70 MB.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_ARENA_MAX, 2)
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 17)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 20)


def return_holes() -> None:
    """Make glibc give the free memory between used blocks back to the system.

    torch aligns tensors, so a tensor rarely fits into the hole that one of equal size left behind. The heap therefore
    grows with every batch of a long computation. With sentences of 60 words, it reaches three times the memory in use.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


def use_huge_pages() -> None:
    """Move this process's memory into 2 MB pages, if the system can do so (Linux 6.1 or newer).

    A decoding step reads every weight from memory once. With 4 KB pages, looking up the weights' addresses takes a
    tenth of the step. Only mappings that are almost full are moved, so the extra memory is negligible.
    """
    if platform.system() != "Linux":
        return
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    for first, behind, resident in MAPPING.findall(Path("/proc/self/smaps").read_text(encoding="utf-8")):
        start, end = int(first, 16), int(behind, 16)
        if int(resident) * 1024 > IN_USE * (end - start):
            start, end = -(-start // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
            if start < end:
                libc.madvise(start, end - start, MADV_COLLAPSE)
