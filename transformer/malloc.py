"""When the C library hands memory back to the system: never in training, soon in a server, and when it is told to."""

from __future__ import annotations

import ctypes
import platform

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8


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
