"""Tunes threads, garbage collection and memory use for a long-running server process that keeps models in memory."""

import gc
import threading
import time
from functools import cache

from transformer.model.devices import use_one_thread
from transformer.model.fast.malloc import return_freed_memory, return_holes

# Seconds between two attempts to return free memory to the operating system. Each attempt takes a few milliseconds.
RELEASE_INTERVAL = 10.0


def tune_process() -> None:
    """Tune this process for a server.

    Torch uses a single thread, loaded objects are excluded from garbage collection, and free memory is regularly
    returned to the operating system. Call this function after all permanent objects, such as models, have been loaded.
    """
    use_one_thread()
    return_freed_memory()
    # A garbage collection that visits torch's modules blocks the server for 90 ms. Frozen objects are not visited
    # again. Unfreeze first, so that objects of an unloaded model can be freed.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    _start_memory_release()


@cache
def _start_memory_release() -> None:
    """Start a thread, once per process, that regularly returns unused heap memory to the operating system.

    A beam search of maximum width, or a gradient computation for a long sentence, leaves 150 MB of unused heap memory.
    """

    def tidy() -> None:
        while True:
            time.sleep(RELEASE_INTERVAL)
            return_holes()

    threading.Thread(target=tidy, name="tidy", daemon=True).start()
