"""The models, loaded once and shared by everybody."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

from pages.ui.script_runs import SCRIPT_RUNS
from pages.ui.shared import SharedResults
from transformer.devices import use_one_thread
from transformer.language_modelling.checkpoint import LoadedLanguageModel, load_language_model
from transformer.malloc import return_freed_memory
from transformer.paths import MODEL
from transformer.translator import Translator

# Each takes as long to load as everything else together, and much of the machine's memory.
MODELS = SharedResults(limit=2, size=lambda model: 1, waiting=SCRIPT_RUNS.given_up)
# Whoever waits for a model keeps nobody from running another.
LOADING_LOCK = threading.Lock()


@MODELS.remember("Loading the model …")
def load_translator(device: str, folder: Path = MODEL) -> Translator:
    """A model on a device.

    Args:
        folder: of the model.

    Raises:
        AtlasError: the model or the device cannot be used; the message says what to do.
    """
    with SCRIPT_RUNS.given_up(), LOADING_LOCK:
        # First: three may be more than the machine has room for.
        MODELS.make_room(1)
        translator = Translator.load(folder, device)
        settle()
    return translator


@MODELS.remember("Loading the language model …")
def load_language(device: str, folder: Path) -> LoadedLanguageModel:
    """A language model on a device; otherwise as `load_translator`."""
    with SCRIPT_RUNS.given_up(), LOADING_LOCK:
        MODELS.make_room(1)
        loaded = load_language_model(folder, device)
        settle()
    return loaded


def settle() -> None:
    """Prepare this process for a server's work; called when what stays in memory has been loaded."""
    use_one_thread()
    return_freed_memory()
    # A search for garbage takes 90 ms while it looks through torch's modules, and nobody is answered meanwhile; what is
    # frozen is not looked at again. What was frozen with a model that is gone is not kept for it.
    gc.unfreeze()
    gc.collect()
    gc.freeze()
