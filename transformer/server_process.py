"""A process that serves many people with models which stay in its memory."""

from __future__ import annotations

import gc

from transformer.devices import use_one_thread
from transformer.malloc import return_freed_memory


def settle() -> None:
    """Prepare this process for a server's work; called when what stays in memory has been loaded."""
    use_one_thread()
    return_freed_memory()
    # A search for garbage takes 90 ms while it looks through torch's modules, and nobody is answered meanwhile; what is
    # frozen is not looked at again. What was frozen with a model that is gone is not kept for it.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
