"""A process that serves many people with models which stay in its memory."""

from __future__ import annotations

import gc
import threading
import time
from functools import cache

from transformer.model.devices import use_one_thread
from transformer.model.fast.malloc import return_freed_memory, return_holes

# Seconds between two looks for memory that can go back to the system, which take a few milliseconds each.
TIDY_EVERY = 10.0


def settle() -> None:
    """Prepare this process for a server's work; called when what stays in memory has been loaded."""
    use_one_thread()
    return_freed_memory()
    # A search for garbage takes 90 ms while it looks through torch's modules, and nobody is answered meanwhile; what is
    # frozen is not looked at again. What was frozen with a model that is gone is not kept for it.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    _stay_tidy()


@cache
def _stay_tidy() -> None:
    """Let a thread hand back what long runs leave free between what is kept: once a process.

    A widest beam, or the gradients of a long sentence, leave 150 MB that nobody uses.
    """

    def tidy() -> None:
        while True:
            time.sleep(TIDY_EVERY)
            return_holes()

    threading.Thread(target=tidy, name="tidy", daemon=True).start()
