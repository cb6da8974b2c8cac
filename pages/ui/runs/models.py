"""Loads models once and shares them between all users."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from pages.ui.runs.script_runs import SCRIPT_RUNS
from pages.ui.runs.shared import SharedResults
from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.files.paths import MODEL
from transformer.running.translator import Translator
from transformer.serving.client import SERVER, RemoteTranslator
from transformer.serving.server_process import settle

# Two models are kept: loading one takes as long as everything else together, and each needs much of the memory.
MODELS = SharedResults(limit=2, size=lambda model: 1, waiting=SCRIPT_RUNS.given_up)
# A separate lock, so that a user who waits for a model does not block runs of another model.
LOADING_LOCK = threading.Lock()


def server() -> str:
    """Return the address of the model server; empty if the model runs in this process."""
    return os.environ.get(SERVER, "")


@MODELS.remember("Loading the model …")
def load_translator(device: str, folder: Path = MODEL) -> Translator:
    """Load a model on a device; if the environment names a model server, that server computes the model's runs.

    Args:
        folder: the model's folder.

    Raises:
        AtlasError: the model, the device or the server cannot be used; the message says what to do.
    """
    with SCRIPT_RUNS.given_up(), LOADING_LOCK:
        # Make room before loading, because three models may need more memory than the machine has.
        MODELS.make_room(1)
        address = server()
        translator = RemoteTranslator(address, folder, device) if address else Translator.load(folder, device)
        settle()
    return translator


@MODELS.remember("Loading the language model …")
def load_language(device: str, folder: Path) -> LanguageModel:
    """Load a language model on a device, in the same way as `load_translator`."""
    with SCRIPT_RUNS.given_up(), LOADING_LOCK:
        MODELS.make_room(1)
        loaded = load_language_model(folder, device)
        settle()
    return loaded
