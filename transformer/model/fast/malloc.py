"""When the C library hands memory back to the system: never in training, soon in a server, and when it is told to; and
how large the pages are in which what is kept lies."""

from __future__ import annotations

import ctypes
import platform
import re
from pathlib import Path

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8

MADV_COLLAPSE = 25
HUGE_PAGE = 1 << 21
# Share of a mapping that is in memory, from which on it moves into huge pages.
IN_USE = 0.9
# A mapping that belongs to no file, the heap among them: its addresses, and the kB of it that are in memory.
MAPPING = re.compile(r"^(\w+)-(\w+) rw-p 00000000 00:00 0 *(?:\[heap\])?\n(?:.*\n)*?Rss: *(\d+) kB$", re.MULTILINE)


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks instead of mapping and clearing fresh pages for every tensor.

    On a CPU half of a training step goes into those page faults otherwise. Does nothing on systems without glibc,
    whose allocators keep memory anyway.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


def return_freed_memory() -> None:
    """Let glibc hand large blocks back as soon as they are free, and share two heaps among all threads.

    A server's sessions are threads with a heap each otherwise, full of holes that the arrays of one left behind: 300
    sentences cost 240 MB then, and 70 MB so.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_ARENA_MAX, 2)
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 17)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 20)


def return_holes() -> None:
    """Let glibc hand back what lies free between blocks in use.

    Tensors that torch aligns rarely fit into the holes that equal ones left behind, so its heap grows with every batch
    of a long run: at 60 words to three times what is in use.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


def use_huge_pages() -> None:
    """Move what this process has in memory into pages of 2 MB, where Linux (from 6.1 on) can.

    A decoding step reads every weight once, from memory, and a tenth of that step goes into finding where each page of
    4 KB lies. What is mapped and hardly used stays as it is, so this takes no memory worth speaking of.
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
