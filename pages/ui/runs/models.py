"""Loads models once and shares them among all users."""

import os
import threading
from pathlib import Path

from pages.ui.runs.script_runs import SCRIPT_RUNS
from pages.ui.runs.shared import SharedResults
from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.files.paths import MODEL
from transformer.running.translator import Translator
from transformer.serving.client import SERVER_VARIABLE, RemoteTranslator
from transformer.serving.server_process import tune_process

# Two models are kept, because loading a model takes a long time. A third would need too much memory.
MODELS = SharedResults(limit=2, size=lambda model: 1, waiting=SCRIPT_RUNS.released)
# This lock is separate from the model lock, so that loading a model does not block another model's runs.
LOADING_LOCK = threading.Lock()


def server() -> str:
    """Return the URL of the model server; empty if models run in this process."""
    return os.environ.get(SERVER_VARIABLE, "")


@MODELS.remember("Loading the model …")
def load_translator(device: str, folder: Path = MODEL) -> Translator:
    """Load a translation model; if a model server is configured, return a translator that runs on that server.

    Args:
        device: the device to use; if a model server is configured, the device for computations in this process.
        folder: the model's folder.

    Raises:
        AtlasError: the model, the device or the server cannot be used; the message says what to do.
    """
    with SCRIPT_RUNS.released(), LOADING_LOCK:
        # Evict a model before loading, because memory may not suffice for three models.
        MODELS.make_room(1)
        address = server()
        translator = RemoteTranslator(address, folder, device) if address else Translator.load(folder, device)
        tune_process()
    return translator


@MODELS.remember("Loading the language model …")
def load_language(device: str, folder: Path) -> LanguageModel:
    """Load a language model on a device, always in this process."""
    with SCRIPT_RUNS.released(), LOADING_LOCK:
        MODELS.make_room(1)
        loaded = load_language_model(folder, device)
        tune_process()
    return loaded
