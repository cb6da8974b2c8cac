"""Converts the folder of a Hugging Face translation model to this project's format.

All supported families (`transformer.interop.families`) have the architecture of "Attention Is All You Need". They
differ in norm placement, positional encoding, shared embeddings, vocabulary, and padding rows in the embeddings.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.checkpoints.huggingface_settings import (
    CONFIG,
    GENERATION,
    activation_setting,
    boolean_setting,
    check_fit,
    integer_setting,
)
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.interop.families import FAMILIES, FAMILY_NAMES, Family
from transformer.interop.generation import generation_of, unapplied
from transformer.interop.model_card import ModelCard, read_card
from transformer.interop.vocabularies import read_vocabulary
from transformer.interop.weights import embeddings, layers, output_bias, positions
from transformer.model.skipped_initialisation import SkippedInitialisation
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary

# Advice for models whose weights exist only as a pickle file.
READ_PICKLE = "use --allow-pickle-weights, which reads only the weights and runs no code from the file"
# Limits for the sizes in config.json; published models of the families that can be imported are smaller. Without
# limits, an invalid config.json could make the importer use up all memory.
MAX_SIZES = {
    "d_model": 8192,
    "encoder_layers": 64,
    "decoder_layers": 64,
    "encoder_attention_heads": 256,
    "decoder_attention_heads": 256,
    "encoder_ffn_dim": 65_536,
    "decoder_ffn_dim": 65_536,
    "vocab_size": 1_000_000,
    "max_position_embeddings": 65_536,
}
# Output bias that makes a token's probability 0 in float32, but is finite in float16.
IMPOSSIBLE = -1e4


@dataclass(frozen=True, eq=False)
class ImportedModel:
    """Contents of a Hugging Face model folder, converted to this project's format.

    Attributes:
        config: model configuration.
        weights: float32 parameters by name, in the order of `named_parameters`.
        tokenizer: the model's vocabulary.
        card: description of the model.
        notes: the importer's decisions, one sentence each.
    """

    config: TransformerConfig
    weights: dict[str, Tensor]
    tokenizer: Vocabulary
    card: ModelCard
    notes: tuple[str, ...]


def read_folder(
    folder: HuggingFaceFolder,
    *,
    name: str,
    allow_pickle: bool = False,
    tie: bool = False,
    revisions: bool = False,
    languages: tuple[str | None, str | None] = (None, None),
) -> ImportedModel:
    """Read a translation model folder written by Hugging Face's transformers.

    Args:
        folder: folder with config.json, the weights, and the tokenizer files.
        name: the model's name, which often contains the languages.
        allow_pickle: as in `HuggingFaceFolder.weights`.
        tie: if True, embeddings that config.json ties, but that differ in the weights file, are all replaced by the
            first of them. If False, such a difference is an error.
        revisions: whether the user can request another revision; if so, error messages suggest one.
        languages: if the model has language tokens, codes of the source and target languages that apply to texts
            without a language code; None means the folder's language.

    Raises:
        CheckpointError: the model is unsupported, or a file is missing, damaged or inconsistent with another file.
    """
    try:
        return _read(folder, name, allow_pickle=allow_pickle, tie=tie, revisions=revisions, languages=languages)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"The model in {folder.path} cannot be imported: {error}.") from error


def _read(
    folder: HuggingFaceFolder,
    name: str,
    *,
    allow_pickle: bool,
    tie: bool,
    revisions: bool,
    languages: tuple[str | None, str | None],
) -> ImportedModel:
    settings = folder.json(CONFIG)
    family = _family(settings, folder)
    generation = folder.json(GENERATION) if folder.has(GENERATION) else {}
    notes: list[str] = []
    rows = integer_setting(settings, "vocab_size", MAX_SIZES), _target_rows(settings)
    tokenizer, other_ends, languages_named = read_vocabulary(
        folder, family, settings, generation, rows, languages, notes
    )
    tensors = folder.weights(
        allow_pickle=allow_pickle,
        otherwise=("try --revision refs/pr/1, which often has a safetensors file, or " if revisions else "")
        + READ_PICKLE,
    )
    weights, tied = embeddings(tensors, settings, notes, tie=tie, revisions=revisions)
    most, width = (integer_setting(settings, name, MAX_SIZES) for name in ("max_position_embeddings", "d_model"))
    tables = positions(tensors, family, most, width, notes)
    config = _config(family, settings, tied, learned=bool(tables))
    weights |= tables | layers(tensors, config)
    weights["generator.bias"] = output_bias(tensors, config.target_vocabulary, tokenizer.size)
    if tensors:
        raise ValueError(
            f"the weights contain the tensor {min(tensors)}, which no {family.model} with the settings in {CONFIG} has"
        )
    with torch.device("meta"), SkippedInitialisation():
        check_fit(Transformer(config), weights)
    config = _remove_padding(config, weights, tokenizer, notes)
    pad = tokenizer.symbols.pad
    search = generation if generation else settings
    if [pad] in (search.get("bad_words_ids") or ()):
        weights["generator.bias"][pad] = IMPOSSIBLE
        notes.append("The padding token is excluded from the softmax, as in Hugging Face's `generate`.")
    ignored = unapplied(search)
    config = replace(config, unapplied=(*other_ends, *ignored), generation=generation_of(search, pad))
    if config.unapplied:
        notes.append(
            f"The folder has settings that `generate` applies and this program ignores: {', '.join(config.unapplied)}."
        )
    card = read_card(folder, name)
    return ImportedModel(
        config, weights, tokenizer, replace(card, languages=languages_named or card.languages), tuple(notes)
    )


def _remove_padding(
    config: TransformerConfig, weights: dict[str, Tensor], tokenizer: Vocabulary, notes: list[str]
) -> TransformerConfig:
    """Remove the embedding and output rows that belong to no token, and return the adjusted configuration.

    Such rows only pad the matrices to a round size.
    """
    sides = {"source": tokenizer.source_size, "target": tokenizer.size}
    left_out = {config.source_vocabulary - sides["source"], config.target_vocabulary - sides["target"]} - {0}
    for name, side in (
        ("source_embedding.weight", "source"),
        ("target_embedding.weight", "target"),
        ("generator.weight", "target"),
        ("generator.bias", "target"),
    ):
        if name in weights and len(weights[name]) > sides[side]:
            weights[name] = weights[name][: sides[side]].clone()
    if left_out:
        notes.append(f"The import left out {max(left_out):,} embedding rows that belong to no token.")
    return replace(config, source_vocabulary=sides["source"], target_vocabulary=sides["target"])


def _family(settings: dict[str, Any], folder: HuggingFaceFolder) -> Family:
    if "source_vocabulary" in settings:
        raise CheckpointError(f"{folder.path} is already an Attention Atlas model folder: use it with --model.")
    family = settings.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        description = (
            f"a model of type {family}" if isinstance(family, str) else f"a model without model_type in {CONFIG}"
        )
        raise CheckpointError(f"{folder.path} is {description}: only {FAMILY_NAMES} models can be imported.")
    return FAMILIES[family]


def _config(family: Family, settings: dict[str, Any], tied: str, *, learned: bool) -> TransformerConfig:
    """Return the model's configuration as stored. Embedding rows that have no token are removed later.

    Raises:
        ValueError: this project's Transformer does not support the configuration.
    """
    numbers = {name: integer_setting(settings, name, MAX_SIZES) for name in MAX_SIZES}
    for what, key in {"attention heads": "attention_heads", "feed-forward units": "ffn_dim"}.items():
        first, second = numbers[f"encoder_{key}"], numbers[f"decoder_{key}"]
        if first != second:
            raise ValueError(
                f"an encoder layer has {first} {what} and a decoder layer {second}, but only equal numbers are "
                "supported"
            )
    return TransformerConfig(
        source_vocabulary=numbers["vocab_size"],
        target_vocabulary=_target_rows(settings),
        d_model=numbers["d_model"],
        heads=numbers["encoder_attention_heads"],
        encoder_layers=numbers["encoder_layers"],
        decoder_layers=numbers["decoder_layers"],
        d_ff=numbers["encoder_ffn_dim"],
        dropout=settings.get("dropout", 0.1),
        activation=activation_setting(settings, family.activation),
        norm=family.norm,
        positions="learned" if learned else family.positions,
        embedding_norm=family.embedding_norm,
        max_positions=numbers["max_position_embeddings"],
        tied_embeddings=tied,  # pyright: ignore[reportArgumentType]
        scale_embedding=boolean_setting(settings, "scale_embedding", False),
        output_bias=True,
    )


def _target_rows(settings: dict[str, Any]) -> int:
    key = "vocab_size" if settings.get("decoder_vocab_size") is None else "decoder_vocab_size"
    return integer_setting(settings, key, {key: MAX_SIZES["vocab_size"]})
