"""Prepares the process of a server whose models stay in memory."""

from __future__ import annotations

import gc
import threading
import time
from functools import cache

from transformer.model.devices import use_one_thread
from transformer.model.fast.malloc import return_freed_memory, return_holes

# Seconds between two attempts to return memory to the system, which take a few milliseconds each.
TIDY_EVERY = 10.0


def settle() -> None:
    """Prepare this process for a server's work; called after everything permanent has been loaded."""
    use_one_thread()
    return_freed_memory()
    # Garbage collection takes 90 ms for torch's modules, and the server does not answer meanwhile. Frozen objects are
    # not visited again. Unfreeze first, so that the objects of a model that is gone can be freed.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    _stay_tidy()


@cache
def _stay_tidy() -> None:
    """Start a thread, once per process, that returns the free memory between permanent objects.

    The widest beam, or the gradients of a long sentence, leave 150 MB of unused memory.
    """

    def tidy() -> None:
        while True:
            time.sleep(TIDY_EVERY)
            return_holes()

    threading.Thread(target=tidy, name="tidy", daemon=True).start()
