"""Lists the available translators and language models.

The list contains the shipped models and the models in two other folders: `models` inside the working directory, and the
folder named by the environment variable ATTENTION_ATLAS_MODELS.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from transformer.checkpoints.model_texts import RUN_MODEL, STEP_WEIGHTS, files_of_model
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.files.paths import LANGUAGE_MODEL, MODEL
from transformer.files.small_files import MEGABYTE, read_beginning, read_small, read_small_json
from transformer.text.affixes import SYMBOLS, read_affixes
from transformer.text.languages import LANGUAGES, LANGUAGES_FILE, Languages, read_languages
from transformer.text.vocabulary import target_codes

SHIPPED, SHIPPED_LANGUAGE_MODEL = MODEL.name, LANGUAGE_MODEL.name
OWN_FOLDER = Path("models")
# Environment variable with the path to an additional folder of model folders.
FOLDER_VARIABLE = "ATTENTION_ATLAS_MODELS"
NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
CONFIG, WEIGHTS, SENTENCES, IDS = "config.json", "model.safetensors", "sentences.txt", "vocab.json"
# Index file of a large GPT-2 model whose weights are split into several files.
INDEX = f"{WEIGHTS}.index.json"
# Maximum size of a config.json, in bytes.
MAX_BYTES = MEGABYTE
# Number of bytes to read from sentences.txt. The file may be a whole corpus, and every rerun of a page reads it.
EXAMPLES_BYTES = 1 << 14


@dataclass(frozen=True)
class ModelFolder:
    """A model folder, or a training checkpoint, that may or may not be usable.

    Attributes:
        name: the model's name in URLs, which is the folder's name, or RUN-STEP for a checkpoint of a training run.
        path: path to the folder, or to the checkpoint's weights file.
        languages: source and target language.
        codes: as in `Vocabulary.codes`.
        problem: sentence that explains why the model cannot be used; empty if no problem is known. Damaged weights are
            detected only when they are loaded.
    """

    name: str
    path: Path
    languages: Languages = LANGUAGES
    codes: tuple[str, ...] = ()
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {'cannot be used' if self.problem else self.languages}"

    @property
    def shipped(self) -> bool:
        return self.path == MODEL

    def sentences(self) -> tuple[str, ...]:
        """Return the example sentences in sentences.txt, in the source language, up to a size limit.

        If sentences.txt is missing or is not UTF-8, return an empty tuple.
        """
        try:
            text, is_whole = read_beginning(self.path / SENTENCES, EXAMPLES_BYTES)
        except (OSError, ValueError):
            return ()
        # The last line that was read may be incomplete.
        lines = text.splitlines() if is_whole else text.splitlines()[:-1]
        return tuple(line.strip() for line in lines if line.strip())


def model_folders() -> dict[str, ModelFolder]:
    """Return all translators by name: the shipped one, those in `models`, then those in $ATTENTION_ATLAS_MODELS.

    The translators in each folder are sorted by name. If two translators have the same name, the first is kept.
    """
    folders = {SHIPPED: ModelFolder(SHIPPED, MODEL)}
    for name, path in _models():
        if not is_language_model(path):
            folders.setdefault(name, _inspect(name, path, _modification_times(path), _translator))
    return folders


def language_model_folders() -> dict[str, ModelFolder]:
    """Return all language models by name, in the order of `model_folders`.

    The shipped language model is omitted if it is not installed.
    """
    folders: dict[str, ModelFolder] = {}
    shipped = ((SHIPPED_LANGUAGE_MODEL, LANGUAGE_MODEL),) if LANGUAGE_MODEL.is_dir() else ()
    own_models = ((name, path) for name, path in _models() if is_language_model(path))
    for name, path in (*shipped, *own_models):
        folders.setdefault(name, _inspect(name, path, _modification_times(path), _language_model))
    return folders


def is_language_model(path: Path) -> bool:
    """Return whether a folder's config.json describes a language model, in this project's format or GPT-2's."""
    folder = files_of_model(path)
    return _is_language_model(folder, _modification_time(folder / CONFIG))


def model_folder(name: str) -> ModelFolder:
    """Look up a translator's folder by name.

    Raises:
        CheckpointError: the translator does not exist or cannot be used.
    """
    folder = model_folders().get(name)
    if folder is None:
        raise CheckpointError(f"There is no model “{name}”: put its folder into `{OWN_FOLDER}` and try again.")
    if folder.problem:
        raise CheckpointError(folder.problem)
    return folder


def _models() -> Iterator[tuple[str, Path]]:
    """Yield each model's name and path; for a training run, those of its latest model and of every saved checkpoint."""
    for path in _folders():
        # `Path.exists` would raise an error for a folder that cannot be entered.
        if os.path.exists(path / CONFIG) or not os.path.isfile(path / RUN_MODEL / CONFIG):
            yield path.name, path
            continue
        yield path.name, path / RUN_MODEL
        try:
            steps = {int(found[1]): file for file in path.iterdir() if (found := STEP_WEIGHTS.fullmatch(file.name))}
        except OSError:
            continue
        yield from ((f"{path.name}-{step}", file) for step, file in sorted(steps.items()))


def _folders() -> Iterator[Path]:
    for place in (OWN_FOLDER, *([Path(os.environ[FOLDER_VARIABLE])] if os.environ.get(FOLDER_VARIABLE) else [])):
        try:
            inside = sorted(place.iterdir()) if place.is_dir() else []
        except OSError:
            continue
        # `Path.is_dir` would raise an error for a folder that can be listed but not entered.
        yield from (path for path in inside if os.path.isdir(path) and not path.name.startswith("."))


def _modification_times(path: Path) -> tuple[int, ...]:
    """Return the modification times, in nanoseconds, of all files that affect the result of `_inspect`."""
    folder = files_of_model(path)
    return _modification_time(path), *(
        _modification_time(folder / name) for name in (CONFIG, WEIGHTS, INDEX, LANGUAGES_FILE, IDS, SYMBOLS)
    )


def _modification_time(path: Path) -> int:
    """Return a file's modification time in nanoseconds; 0 if the file does not exist."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


# Cached, because every rerun of a page lists all folders several times.
@lru_cache(maxsize=256)
def _inspect(
    name: str, path: Path, changed: tuple[int, ...], read: Callable[[Path, dict[str, Any]], ModelFolder]
) -> ModelFolder:
    """Return a model's `ModelFolder`, with any problem that can be detected without reading the weights.

    Args:
        name: model name.
        path: model folder, or a checkpoint's weights file.
        changed: modification times of the model's files, so that a change to a file invalidates the cache.
        read: function that checks the folder of a translator or a language model, given the values in config.json.
    """
    folder = files_of_model(path)

    def useless(problem: str) -> ModelFolder:
        return ModelFolder(name, path, problem=f"The folder {folder} cannot be used: {problem}.")

    if not NAME.fullmatch(name):
        return useless(
            "its name must start with a Latin letter or a digit and consist of at most 64 Latin letters, digits, dots, "
            "hyphens and underscores; rename it"
        )
    try:
        inspected = replace(read(folder, read_small_json(folder / CONFIG, MAX_BYTES)), name=name, path=path)
        weights = (WEIGHTS, INDEX) if read is _language_model else (WEIGHTS,)
        return inspected if any((folder / name).is_file() for name in weights) else useless(f"its {WEIGHTS} is missing")
    except FileNotFoundError:
        return useless(f"its {CONFIG} is missing")
    except OSError as error:
        return useless(f"it cannot be read ({error.strerror})")
    except (ValueError, TypeError, RecursionError) as error:
        return useless(str(error).rstrip("."))


def _translator(path: Path, values: dict[str, Any]) -> ModelFolder:
    if "model_type" in values:
        raise ValueError(
            f"it is a Hugging Face model of the family {values['model_type']}; if the family is supported, "
            f"`attention-atlas import {path} --output {path.with_name('NAME')}` converts it to a model folder"
        )
    if not TransformerConfig.from_json(json.dumps(values)).layers_of("cross"):
        raise ValueError("it has only an encoder, and no page can show such a model")
    return ModelFolder(path.name, path, read_languages(path), _codes(path))


def _language_model(path: Path, values: dict[str, Any]) -> ModelFolder:
    if "model_type" not in values and TransformerConfig.from_json(json.dumps(values)).attention != "full":
        raise ValueError("the page “Language model” shows only full attention, and this model's attention is not full")
    return ModelFolder(path.name, path)


@lru_cache(maxsize=256)
def _is_language_model(path: Path, changed: int) -> bool:
    try:
        values = read_small_json(path / CONFIG, MAX_BYTES)
    except (OSError, ValueError):
        return False
    former, today = "vocabulary" in values, values.get("encoder_layers") == 0
    return former or today or values.get("model_type") == "gpt2"


def _codes(path: Path) -> tuple[str, ...]:
    """Return the vocabulary's language codes; empty if a file is invalid (loading the model reports the error)."""
    try:
        codes = read_affixes(read_small(path / SYMBOLS)).codes if (path / SYMBOLS).exists() else ()
        return codes or target_codes(read_small_json(path / IDS))
    except (OSError, ValueError):
        return ()
