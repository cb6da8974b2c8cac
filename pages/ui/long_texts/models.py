"""Loads the small language models of the "Long texts" page, one for each kind of attention."""

from pages.ui.runs.inference import MODEL_LOCK, RUNS
from pages.ui.runs.models import LOADING_LOCK
from pages.ui.runs.script_runs import SCRIPT_RUNS
from pages.ui.runs.shared import SharedResults
from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.config import Attention
from transformer.files.paths import ASSETS
from transformer.language_modelling.attention_map import AttentionMap, map_of_text
from transformer.serving.server_process import tune_process

FOLDER = ASSETS / "long_texts"
# Keep all three models, because each takes only about a megabyte of memory.
LOADED = SharedResults(limit=3, size=lambda model: 1, waiting=SCRIPT_RUNS.released)
# Maximum number of tokens in a text. For a longer text, the map's row labels would not fit.
MAX_TOKENS = 96


@LOADED.remember("Loading the models …")
def small_model(attention: Attention) -> LanguageModel:
    """Return the model with a given kind of attention, loaded on the CPU.

    Raises:
        CheckpointError: the model's folder is missing or damaged; the message says what to do.
    """
    with SCRIPT_RUNS.released(), LOADING_LOCK:
        loaded = load_language_model(FOLDER / attention, "cpu")
        tune_process()
    return loaded


@RUNS.remember()
def map_of(attention: Attention, text: str) -> AttentionMap:
    """Return the attention maps of all heads for a text, from the model with a given kind of attention.

    Raises:
        AtlasError: the text or the model cannot be read; the message says what to do.
    """
    loaded = small_model(attention)
    with MODEL_LOCK:
        return map_of_text(loaded.model, loaded.tokenizer, text, MAX_TOKENS)
