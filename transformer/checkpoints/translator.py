"""A model folder: configuration, weights, vocabulary, model card and learning curve, which belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from transformer.checkpoints.model_files import CONFIG, check_vocabulary, fill, read_weights
from transformer.checkpoints.model_texts import RESTORE, read_card, read_curve, read_text
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.model.linear import pack_weights
from transformer.model.transformer import Transformer
from transformer.model.undrawn import Undrawn
from transformer.text.languages import LANGUAGES, Languages, read_languages
from transformer.text.pair_tokenizer import SOURCE, PairTokenizer
from transformer.text.tokenizer import VOCABULARY, Tokenizer
from transformer.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Checkpoint:
    """What a model folder holds.

    Attributes:
        model: on the CPU, in float32, in evaluation mode.
        tokenizer: the one it was trained with.
        languages: of the source and of the target.
        card: the model card, Markdown; empty if the folder has none.
        curve: how it learned, a CSV of `transformer.checkpoints.learning_curve.FIELDS`; empty if the folder has none.
    """

    model: Transformer
    tokenizer: Vocabulary
    languages: Languages = LANGUAGES
    card: str = ""
    curve: str = ""

    def model_on(self, device: str | torch.device) -> Transformer:
        """The model, moved to a device and prepared for inference there; it cannot be trained any more."""
        model = self.model.to(device)
        if torch.device(device).type == "cpu":
            pack_weights(model)
        return model


@dataclass(frozen=True)
class Description:
    """What a model folder says of its model, without the model.

    Attributes:
        config: the model's shape.
        tokenizer, languages, card, curve: as in `Checkpoint`.
    """

    config: TransformerConfig
    tokenizer: Vocabulary
    languages: Languages
    card: str
    curve: str


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a model folder: config.json, model.safetensors and the files of its vocabulary, with README.md,
    languages.json and learning_curve.csv if they are there.

    Nothing is made in a size that only config.json names, and no weight is used, before the seals in the weights'
    file have shown that the files belong together.

    Raises:
        CheckpointError: a file is missing or damaged, the files do not belong together, or there is too little memory.
    """
    config = _config(folder)
    one_file = not (folder / SOURCE).exists()
    weights = read_weights(folder, config, _sizes(config), vocabulary=VOCABULARY if one_file else "")
    tokenizer, languages = _words(folder)
    sizes = config.source_vocabulary, config.target_vocabulary
    if weights.tokenizer != tokenizer.fingerprint or sizes != (tokenizer.source_size, tokenizer.size):
        raise CheckpointError(
            f"The vocabulary ({', '.join(tokenizer.files)}) in {folder} is not the one that the weights beside it were "
            f"trained with. {RESTORE}"
        )
    with Undrawn():
        model = Transformer(config, tokenizer.symbols)
    fill(model, weights, folder)
    return Checkpoint(model, tokenizer, languages, card=read_card(folder), curve=read_curve(folder))


def load_description(folder: Path) -> Description:
    """Read what a model folder says of its model; the weights stay where they are, and are not checked.

    Raises:
        CheckpointError: a file is missing or damaged, or the vocabulary is not the one of the weights.
    """
    config = _config(folder)
    if not (folder / SOURCE).exists():
        check_vocabulary(folder / VOCABULARY)
    tokenizer, languages = _words(folder)
    return Description(config, tokenizer, languages, card=read_card(folder), curve=read_curve(folder))


def _config(folder: Path) -> TransformerConfig:
    written = read_text(folder / CONFIG)
    try:
        return TransformerConfig.from_json(written)
    except ValueError as error:
        raise CheckpointError(f"The file {folder / CONFIG} cannot be used: {error}. {RESTORE}") from error


def _words(folder: Path) -> tuple[Vocabulary, Languages]:
    try:
        return _vocabulary(folder), read_languages(folder)
    except (ValueError, OSError, RecursionError) as error:
        raise CheckpointError(f"The model folder {folder} cannot be read: {error}. {RESTORE}") from error


def _vocabulary(folder: Path) -> Vocabulary:
    if (folder / SOURCE).exists():
        return PairTokenizer.load(folder)
    return Tokenizer.load(folder / VOCABULARY)


def _sizes(config: TransformerConfig) -> dict[str, tuple[int, ...]]:
    """Shapes of some parameters which together name every size of a configuration; no tensor is made."""
    sizes: dict[str, tuple[int, ...]] = {
        f"{stack}_layers.{layers - 1}.feed_forward.expand.weight": (config.d_ff, config.d_model)
        for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers))
    }
    sizes["target_embedding.weight"] = config.target_vocabulary, config.d_model
    if config.tied_embeddings != "all":
        sizes["source_embedding.weight"] = config.source_vocabulary, config.d_model
    else:
        # Parameters that are shared are listed once, under the name that comes first.
        sizes["source_embedding.weight"] = sizes.pop("target_embedding.weight")
    if config.positions == "learned":
        sizes["source_positions.table"] = config.max_positions, config.d_model
    return sizes
