"""The folder of a language model: one that was trained here, or a GPT-2 of Hugging Face's."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from transformer.checkpoints.foreign_files import Folder
from transformer.checkpoints.gpt2 import read_gpt2
from transformer.checkpoints.model_files import CONFIG, WEIGHTS, fill, folder_version, read_weights
from transformer.checkpoints.model_texts import RESTORE, read_card, read_curve, read_text
from transformer.config import LanguageModelConfig
from transformer.errors import CheckpointError
from transformer.files.paths import LANGUAGE_MODEL
from transformer.model.devices import chosen_device, device_errors_explained
from transformer.model.language_model import LanguageModel
from transformer.model.linear import pack_weights
from transformer.model.undrawn import Undrawn
from transformer.text.tokenizer import VOCABULARY, Tokenizer
from transformer.text.vocabulary import TextVocabulary
from transformer.values.run import Runs
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class LoadedLanguageModel(Runs):
    """What the folder of a language model holds.

    Attributes:
        model: in float32, in evaluation mode, ready on its device; it cannot be trained any more.
        tokenizer: the one it was trained with.
        card: the model card, Markdown; empty if the folder has none.
        curve: how it learned, as in `transformer.checkpoints.translator.Checkpoint`; empty if the folder does not say.
        version: changes whenever the configuration, the vocabulary or a weight does.
        device: where the model is.
        folder: where it came from.
    """

    model: LanguageModel
    tokenizer: TextVocabulary
    card: str
    curve: str
    version: str
    device: str
    folder: Path

    @property
    def parameters(self) -> int:
        """Number of parameters, the shared embedding counted once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def weights(self) -> Weights:
        """The model's parameters as arrays; on the CPU they are the model's own memory, read-only."""
        named = self.model.named_parameters(remove_duplicate=False)
        with device_errors_explained(self.device):
            arrays = {_of_a_decoder(name): value.detach().float().cpu().numpy() for name, value in named}
        return Weights(self.model.config, arrays)


def _of_a_decoder(name: str) -> str:
    """What a parameter of a language model is called in a decoder."""
    part = name.partition(".")[0]
    stack = {"embedding": "target", "positions": "target", "layers": "decoder", "norm": "decoder"}.get(part)
    return f"{stack}_{name}" if stack else name


def load_language_model(folder: Path = LANGUAGE_MODEL, device: str | None = None) -> LoadedLanguageModel:
    """Read the folder of a language model.

    Args:
        folder: with config.json, model.safetensors and tokenizer.model, as `transformer.training` leaves them, or with
            the files of a GPT-2 (see `transformer.checkpoints.gpt2`); README.md and learning_curve.csv may be missing.
        device: "cuda", "mps" or "cpu"; None takes the fastest available.

    Raises:
        CheckpointError: a file is missing or damaged, the files do not belong together, the weights are not all
            finite, or there is too little memory; one line that names the file.
        DeviceError: the device is missing, or has too little memory for the model.
    """
    device = chosen_device(device)
    text = read_text(folder / CONFIG)
    if _is_gpt2(text):
        imported = read_gpt2(Folder(folder))
        model, tokenizer, weights = imported.model, imported.tokenizer, imported.weights
    else:
        model, tokenizer = _read(folder, text)
        weights = (WEIGHTS,)
    version = folder_version(folder, tokenizer, weights)
    with device_errors_explained(device):
        model.to(device)
    if device == "cpu":
        pack_weights(model)
    return LoadedLanguageModel(
        model, tokenizer, card=read_card(folder), curve=read_curve(folder),
        version=version, device=device, folder=folder,
    )


def _is_gpt2(text: str) -> bool:
    """Whether a configuration is one of Hugging Face's, which `read_gpt2` accepts or refuses."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and "model_type" in values


def _read(folder: Path, text: str) -> tuple[LanguageModel, Tokenizer]:
    """The model and the vocabulary of a folder of ours, whose config.json has that text."""
    try:
        config = LanguageModelConfig.from_json(text)
    except ValueError as error:
        raise CheckpointError(f"The file {folder / CONFIG} cannot be used: {error}. {RESTORE}") from error
    weights = read_weights(folder, config, _sizes(config), vocabulary=VOCABULARY)
    try:
        tokenizer = Tokenizer.load(folder / VOCABULARY)
    except (ValueError, OSError) as error:
        raise CheckpointError(f"The model folder {folder} cannot be read: {error}. {RESTORE}") from error
    if tokenizer.size != config.vocabulary:
        raise CheckpointError(
            f"The vocabulary in {folder} has {tokenizer.size:,} pieces, and {CONFIG} says {config.vocabulary:,}. "
            + RESTORE
        )
    with Undrawn():
        model = LanguageModel(config, tokenizer.symbols)
    fill(model, weights, folder)
    return model, tokenizer


def _sizes(config: LanguageModelConfig) -> dict[str, tuple[int, ...]]:
    """Shapes of some parameters which together name every size of a configuration; no tensor is made."""
    sizes: dict[str, tuple[int, ...]] = {
        f"layers.{config.layers - 1}.feed_forward.expand.weight": (config.d_ff, config.d_model),
        "embedding.weight": (config.vocabulary, config.d_model),
    }
    if config.positions == "learned":
        sizes["positions.table"] = config.max_positions, config.d_model
    if config.attention == "compressed":
        sizes["layers.0.compression.keys.weight"] = config.d_model, config.d_model // config.heads, config.stride
    return sizes
