"""The models, loaded once and shared by everybody."""

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

# Each takes as long to load as everything else together, and much of the machine's memory.
MODELS = SharedResults(limit=2, size=lambda model: 1, waiting=SCRIPT_RUNS.given_up)
# Whoever waits for a model keeps nobody from running another.
LOADING_LOCK = threading.Lock()


def server() -> str:
    """The address of the model's server; empty if the model runs in this process."""
    return os.environ.get(SERVER, "")


@MODELS.remember("Loading the model …")
def load_translator(device: str, folder: Path = MODEL) -> Translator:
    """A model on a device; or one whose runs a model's server computes, if the environment names it.

    Args:
        folder: of the model.

    Raises:
        AtlasError: the model, the device or the server cannot be used; the message says what to do.
    """
    with SCRIPT_RUNS.given_up(), LOADING_LOCK:
        # First: three may be more than the machine has room for.
        MODELS.make_room(1)
        address = server()
        translator = RemoteTranslator(address, folder, device) if address else Translator.load(folder, device)
        settle()
    return translator


@MODELS.remember("Loading the language model …")
def load_language(device: str, folder: Path) -> LanguageModel:
    """A language model on a device; otherwise as `load_translator`."""
    with SCRIPT_RUNS.given_up(), LOADING_LOCK:
        MODELS.make_room(1)
        loaded = load_language_model(folder, device)
        settle()
    return loaded
