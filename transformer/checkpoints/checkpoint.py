"""Loads model folders: configuration, weights, vocabulary, model card and learning curve."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from transformer.checkpoints.gpt2 import read_gpt2
from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.checkpoints.model_files import (
    CONFIG,
    WEIGHTS,
    check_vocabulary,
    folder_version,
    load_weights,
    read_step_weights,
    read_weights,
)
from transformer.checkpoints.model_texts import REPAIR_ADVICE, files_of_model, read_card, read_curve, read_text
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.files.paths import LANGUAGE_MODEL
from transformer.files.small_files import read_small
from transformer.model.devices import chosen_device, device_errors_explained
from transformer.model.fast.modules import speed_up
from transformer.model.skipped_initialisation import SkippedInitialisation
from transformer.model.transformer import Transformer
from transformer.text.affixes import SYMBOLS, read_affixes
from transformer.text.byte_tokenizer import ByteTokenizer
from transformer.text.languages import LANGUAGES, Languages, read_languages
from transformer.text.pair_tokenizer import PairTokenizer
from transformer.text.tokenizer import VOCABULARY, Tokenizer
from transformer.text.vocabulary import TextVocabulary, Vocabulary
from transformer.values.run import Runs
from transformer.values.weights import Weights

V = TypeVar("V", bound=TextVocabulary)


@dataclass(frozen=True, eq=False)
class Checkpoint(Runs, Generic[V]):
    """A loaded model folder.

    Attributes:
        model: the model, in float32 and in evaluation mode.
        tokenizer: tokenizer that the model was trained with; a `Vocabulary` for translators.
        languages: source and target language.
        card: model card in Markdown; empty if there is none.
        curve: learning curve, CSV with the columns in `transformer.checkpoints.learning_curve.FIELDS`; empty if there
            is none.
        version: digest that changes whenever the configuration, the vocabulary or a weight changes.
        device: device that the model is on.
        folder: model folder, or weights file of a training checkpoint; None if the model was created in memory.
    """

    model: Transformer
    tokenizer: V
    languages: Languages = LANGUAGES
    card: str = ""
    curve: str = ""
    version: str = ""
    device: str = "cpu"
    folder: Path | None = None

    @property
    def config(self) -> TransformerConfig:
        return self.model.config

    @property
    def parameters(self) -> int:
        """Number of parameters, counting shared ones once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def weights(self) -> Weights:
        return weights_of(self.model, self.device)

    def model_on(self, device: str | torch.device) -> Transformer:
        """Move the model to a device, optimise it for inference and return it; it can no longer be trained."""
        model = self.model.to(device)
        speed_up(model)
        return model


LanguageModel = Checkpoint[TextVocabulary]


@dataclass(frozen=True)
class Description:
    """A translator's folder, loaded without the weights.

    Attributes:
        config: model configuration.
        tokenizer, languages, card, curve: as in `Checkpoint`.
    """

    config: TransformerConfig
    tokenizer: Vocabulary
    languages: Languages
    card: str
    curve: str


def load_checkpoint(folder: Path) -> Checkpoint[Vocabulary]:
    """Load a translator onto the CPU.

    A model folder contains config.json, model.safetensors and vocabulary files, and optionally README.md,
    languages.json and learning_curve.csv. Checksums in the weights file prove that the files belong together. The
    checksums are verified before any weight is used, and before memory is allocated for the model that config.json
    describes.

    Args:
        folder: model folder, or a training run's weights-STEP.safetensors, in which case all other files are read from
            the run's model folder.

    Raises:
        CheckpointError: a file is missing or damaged, the files do not belong together, memory is insufficient, or the
            model is not a translator.
    """
    config_text = read_text(files_of_model(folder) / CONFIG)
    config = _config(folder, config_text)
    _check_translates(folder, config)
    return _read_ours(folder, config, config_text)


def load_language_model(folder: Path = LANGUAGE_MODEL, device: str | None = None) -> LanguageModel:
    """Load a language model onto a device, for inference only.

    Args:
        folder: model folder made by `transformer.training`, or a GPT-2 folder (see `transformer.checkpoints.gpt2`).
        device: "cuda", "mps" or "cpu"; None means the fastest device available.

    Raises:
        CheckpointError: as in `load_checkpoint`, except that the model must be a language model.
        DeviceError: the device is not available, or has too little memory for the model.
    """
    device = chosen_device(device)
    config_text = read_text(files_of_model(folder) / CONFIG)
    if _is_gpt2(config_text):
        loaded = _read_gpt2(folder)
    else:
        config = _config(folder, config_text)
        if config.kinds != ("decoder",):
            raise CheckpointError(f"The model in {folder} has an encoder: choose a language model.")
        loaded = _read_ours(folder, config, config_text)
    with device_errors_explained(device):
        return replace(loaded, model=loaded.model_on(device), device=device)


def load_description(folder: Path) -> Description:
    """Load everything in a translator's folder except the weights, which are neither loaded nor verified.

    Raises:
        CheckpointError: a file is missing or damaged, the vocabulary does not match the weights, or the model is not a
            translator.
    """
    folder = files_of_model(folder)
    config = _config(folder, read_text(folder / CONFIG))
    _check_translates(folder, config)
    if not (folder / SYMBOLS).exists():
        check_vocabulary(folder / VOCABULARY)
    tokenizer, languages = _vocabulary_and_languages(folder)
    return Description(config, tokenizer, languages, card=read_card(folder), curve=read_curve(folder))


def weights_of(model: Transformer, device: str) -> Weights:
    """Return a model's parameters as read-only arrays; if the model is on the CPU, the arrays share its memory.

    Raises:
        DeviceError: the device ran out of memory.
    """
    named_parameters = model.named_parameters(remove_duplicate=False)
    with device_errors_explained(device):
        return Weights(model.config, {name: value.detach().float().cpu().numpy() for name, value in named_parameters})


def _read_gpt2(folder: Path) -> LanguageModel:
    model, tokenizer, weights = read_gpt2(HuggingFaceFolder(folder))
    return Checkpoint(
        model,
        tokenizer,
        card=read_card(folder),
        curve=read_curve(folder),
        version=folder_version(folder, tokenizer, weights),
        folder=folder,
    )


def _read_ours(folder: Path, config: TransformerConfig, config_text: str) -> Checkpoint[Any]:
    """Load a model made by `transformer.training` or `transformer.interop`.

    Args:
        folder: as in `load_checkpoint`.
        config: model configuration.
        config_text: contents of config.json, to verify the checksum.
    """
    path, folder = folder, files_of_model(folder)
    if path == folder:
        one_file = not (folder / SYMBOLS).exists()
        weights = read_weights(folder, config_text, _sizes(config), vocabulary=VOCABULARY if one_file else "")
    else:
        weights = read_step_weights(path, VOCABULARY)
    tokenizer, languages = _vocabulary_and_languages(folder)
    sizes = config.source_vocabulary or tokenizer.source_size, config.target_vocabulary
    if weights.tokenizer != tokenizer.fingerprint or sizes != (tokenizer.source_size, tokenizer.size):
        raise CheckpointError(
            f"The vocabulary ({', '.join(tokenizer.files)}) in {folder} is not the one that the weights beside it were "
            f"trained with. {REPAIR_ADVICE}"
        )
    with SkippedInitialisation():
        model = Transformer(config, tokenizer.symbols)
    load_weights(model, weights, path)
    return Checkpoint(
        model,
        tokenizer,
        languages,
        card=read_card(folder),
        curve=read_curve(folder),
        version=folder_version(folder, tokenizer, (WEIGHTS if path == folder else f"../{path.name}",)),
        folder=path,
    )


def _is_gpt2(config_text: str) -> bool:
    """Return whether config.json is in Hugging Face's format; if so, `read_gpt2` decides whether it is supported."""
    try:
        values = json.loads(config_text)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and "model_type" in values


def _config(folder: Path, config_text: str) -> TransformerConfig:
    try:
        return TransformerConfig.from_json(config_text)
    except ValueError as error:
        raise CheckpointError(f"The file {folder / CONFIG} cannot be used: {error}. {REPAIR_ADVICE}") from error


def _check_translates(folder: Path, config: TransformerConfig) -> None:
    if not config.layers_of("cross"):
        missing = "encoder" if config.decoder_layers else "decoder"
        raise CheckpointError(f"The model in {folder} does not translate: it has no {missing}.")


def _vocabulary_and_languages(folder: Path) -> tuple[Vocabulary, Languages]:
    try:
        return _vocabulary(folder), read_languages(folder)
    except (ValueError, OSError, RecursionError) as error:
        raise CheckpointError(f"The model folder {folder} cannot be read: {error}. {REPAIR_ADVICE}") from error


def _vocabulary(folder: Path) -> Vocabulary:
    if (folder / SYMBOLS).exists():
        affixes = read_affixes(read_small(folder / SYMBOLS))
        return (ByteTokenizer if affixes.byte_level else PairTokenizer).load(folder)
    return Tokenizer.load(folder / VOCABULARY)


def _sizes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """Return the expected shapes of a few parameters that together confirm every size in a configuration."""
    sizes: dict[str, tuple[int, ...]] = {}
    for stack, layers, side, vocabulary in (
        ("encoder", config.encoder_layers, "source", config.source_vocabulary),
        ("decoder", config.decoder_layers, "target", config.target_vocabulary),
    ):
        if layers:
            sizes[f"{stack}_layers.{layers - 1}.feed_forward.expand.weight"] = config.d_ff, config.d_model
            sizes[f"{side}_embedding.weight"] = vocabulary, config.d_model
        if layers and config.position_limit is not None:
            sizes[f"{side}_positions.table"] = config.position_limit, config.d_model
    if config.tied_embeddings == "all":
        # A shared parameter is stored once, under its first name.
        del sizes["target_embedding.weight"]
    if config.attention == "compressed":
        sizes["decoder_layers.0.self_attention.compression.keys.weight"] = config.d_model, config.d_head, config.stride
    return sizes
