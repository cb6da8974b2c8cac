"""Reads a Hugging Face Marian folder (the OPUS-MT models, Tiedemann and Thottingal 2020) as a model of ours.

Marian is the Transformer of the paper with its norms after each sub-layer, so the model needs no change. The
differences are around it: shared embeddings, ids of the symbols, and a padding row that Hugging Face added.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.foreign_files import Folder
from transformer.checkpoints.foreign_settings import CONFIG, GENERATION, activation, check_fit, flag, whole
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.interop.generation import unapplied
from transformer.interop.model_card import ModelCard, read_card
from transformer.model.sinusoids import sinusoids
from transformer.model.transformer import Transformer
from transformer.model.undrawn import Undrawn
from transformer.text.added_tokens import ADDED, TOKENIZER, AddedToken, named_symbols, read_added
from transformer.text.pair_tokenizer import (
    IDS,
    SOURCE,
    SYMBOLS,
    TARGET,
    TARGET_IDS,
    PairTokenizer,
    read_ids,
    write_symbols,
)
from transformer.text.vocabulary import Symbols, target_codes

# The tokenizer's symbols and their usual texts.
SYMBOL_TEXTS = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}
# Settings of the search, which are in generation_config.json, if it exists.
OF_SEARCH = ("eos_token_id", "decoder_start_token_id", "bos_token_id")
# Number of added tokens that are named; a folder may have thousands.
NAMED = 5
# Advice for weights that exist only as a pickle.
READ_PICKLE = "read them as weights alone with --allow-pickle-weights"
# Limits above all existing models; without them, a few bytes of JSON would ask for all memory.
LARGEST = {
    "d_model": 8192, "encoder_layers": 64, "decoder_layers": 64, "encoder_attention_heads": 256,
    "decoder_attention_heads": 256, "encoder_ffn_dim": 65_536, "decoder_ffn_dim": 65_536, "vocab_size": 1_000_000,
    "max_position_embeddings": 65_536,
}
# With this bias the probability is exactly 0 in float32, but the bias is finite, also in float16.
NEVER = -1e4
# A table in a file counts as the formula's if the difference is at most this.
SAME_POSITIONS = 1e-6

ENCODER_EMBEDDING, DECODER_EMBEDDING = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
SHARED, OUTPUT, OUTPUT_BIAS = "model.shared.weight", "lm_head.weight", "final_logits_bias"
POSITIONS = {side: f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
# Our names and theirs within a layer; the three projections of an attention are one matrix here.
ATTENTION = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
NORMS = {
    "self_attention_residual.norm": "self_attn_layer_norm", "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
}
LINEAR = {"feed_forward.expand": "fc1", "feed_forward.contract": "fc2"}
PARTS = {"encoder": ("self_attention",), "decoder": ("self_attention", "cross_attention")}


@dataclass(frozen=True, eq=False)
class Imported:
    """The contents of a folder in our format.

    Attributes:
        config: configuration of the model.
        weights: its parameters by name, float32, as `named_parameters` lists them.
        tokenizer: its vocabulary.
        card: its model card.
        notes: decisions of the import, one sentence each.
    """

    config: TransformerConfig
    weights: dict[str, Tensor]
    tokenizer: PairTokenizer
    card: ModelCard
    notes: tuple[str, ...]


def read_marian(
    folder: Folder, *, name: str, allow_pickle: bool = False, tie: bool = False, revisions: bool = False
) -> Imported:
    """Read a folder that Hugging Face's `MarianMTModel` and `MarianTokenizer` have written.

    Args:
        folder: folder with config.json, model.safetensors, source.spm, target.spm, vocab.json.
        name: name of the model, which often contains its languages.
        allow_pickle: as in `Folder.weights`.
        tie: if config.json says that two embeddings are one but the file has two that differ, use the target's.
        revisions: whether another revision can be requested; then messages advise it.

    Raises:
        CheckpointError: it is another kind of model, or a file is missing, damaged or does not match the others.
    """
    try:
        return _read(folder, name, allow_pickle=allow_pickle, tie=tie, revisions=revisions)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"The model in {folder.path} cannot be imported: {error}.") from error


def _read(folder: Folder, name: str, *, allow_pickle: bool, tie: bool, revisions: bool) -> Imported:
    settings = folder.json(CONFIG)
    _check_family(settings, folder)
    generation = folder.json(GENERATION) if folder.has(GENERATION) else {}
    notes: list[str] = []
    tokenizer, other_ends = _vocabulary(folder, settings, generation, notes)
    found = folder.weights(
        allow_pickle=allow_pickle,
        otherwise=("a safetensors copy is often in --revision refs/pr/1; or " if revisions else "") + READ_PICKLE,
    )
    weights, tied = _embeddings(found, settings, notes, tie=tie, revisions=revisions)
    positions = _positions(found, settings, notes)
    config = _config(settings, tied, learned=bool(positions))
    weights |= positions
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(layers):
            weights |= _layer(found, stack, layer)
    weights["generator.bias"] = _bias(found, config.target_vocabulary, tokenizer.size)
    if found:
        raise ValueError(f"it has the tensor {min(found)}, which no Marian model has")
    with torch.device("meta"), Undrawn():
        check_fit(Transformer(config), weights)
    config = _cut(config, weights, tokenizer, notes)
    pad = tokenizer.symbols.pad
    weights["generator.bias"][pad] = NEVER
    search = generation if generation else settings
    notes.append(
        "The padding token is left out of the softmax, as `generate` leaves it out of Hugging Face's."
        if search.get("bad_words_ids") == [[pad]] else
        "The padding token is left out of the softmax; `generate` does not leave it out, because bad_words_ids does "
        "not list it."
    )
    asked = unapplied(search, pad=pad, end=tokenizer.symbols.end, positions=config.max_positions)
    config = replace(config, unapplied=(*other_ends, *asked))
    if config.unapplied:
        notes.append(
            f"Settings of the folder that `generate` applies and this program does not: {', '.join(config.unapplied)}."
        )
    return Imported(config, weights, tokenizer, read_card(folder, name), tuple(notes))


def _bias(found: dict[str, Tensor], rows: int, pieces: int) -> Tensor:
    """The bias of the output layer, one number for each row of it.

    transformers does not extend it when it pads the rows of the embedding; missing numbers are 0.
    """
    bias = found.pop(OUTPUT_BIAS, torch.zeros(rows)).reshape(-1)
    return torch.cat([bias, torch.zeros(max(rows - len(bias), 0))]) if len(bias) >= pieces else bias.clone()


def _cut(
    config: TransformerConfig, weights: dict[str, Tensor], tokenizer: PairTokenizer, notes: list[str]
) -> TransformerConfig:
    """Remove the rows without a token, which only pad a matrix to a rounder number."""
    sides = {"source": tokenizer.source_size, "target": tokenizer.size}
    left_out = {config.source_vocabulary - sides["source"], config.target_vocabulary - sides["target"]} - {0}
    for name, side in (
        ("source_embedding.weight", "source"), ("target_embedding.weight", "target"), ("generator.weight", "target"),
        ("generator.bias", "target"),
    ):
        if name in weights and len(weights[name]) > sides[side]:
            weights[name] = weights[name][: sides[side]].clone()
    if left_out:
        notes.append(f"{max(left_out):,} rows of the embedding belong to no token and are left out.")
    return replace(config, source_vocabulary=sides["source"], target_vocabulary=sides["target"])


def _check_family(settings: dict[str, Any], folder: Folder) -> None:
    if "source_vocabulary" in settings:
        raise CheckpointError(f"{folder.path} is a model folder of Attention Atlas already: use it with --model.")
    family = settings.get("model_type")
    if family != "marian":
        named = f"a model of the family {family}" if isinstance(family, str) else "a model that names no family"
        raise CheckpointError(
            f"{folder.path} is {named}: only Marian models can be imported, for example Helsinki-NLP/opus-mt-en-fr."
        )


def _config(settings: dict[str, Any], tied: str, *, learned: bool) -> TransformerConfig:
    """The shape of the model, with one token for each row.

    Raises:
        ValueError: this Transformer cannot have the shape.
    """
    numbers = {name: whole(settings, name, LARGEST) for name in LARGEST}
    for what, key in {"attention heads": "attention_heads", "feed-forward units": "ffn_dim"}.items():
        first, second = numbers[f"encoder_{key}"], numbers[f"decoder_{key}"]
        if first != second:
            raise ValueError(
                f"a layer of its encoder has {first} {what} and one of its decoder {second}, but only equal numbers "
                "are supported"
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
        activation=activation(settings, "gelu"),
        norm="post",
        positions="learned" if learned else "sinusoidal_halves",
        max_positions=numbers["max_position_embeddings"],
        tied_embeddings=tied,  # pyright: ignore[reportArgumentType]
        scale_embedding=flag(settings, "scale_embedding", False),
        output_bias=True,
    )


def _target_rows(settings: dict[str, Any]) -> int:
    key = "vocab_size" if settings.get("decoder_vocab_size") is None else "decoder_vocab_size"
    return whole(settings, key, {key: LARGEST["vocab_size"]})


def _vocabulary(
    folder: Folder, settings: dict[str, Any], generation: dict[str, Any], notes: list[str]
) -> tuple[PairTokenizer, tuple[str, ...]]:
    """The vocabulary, and the additional symbols that end a translation there."""
    tokenizing = folder.json(TOKENIZER) if folder.has(TOKENIZER) else {}
    files = {name: folder.read(name) for name in (SOURCE, TARGET, IDS)}
    if tokenizing.get("separate_vocabs") is True:
        files[TARGET_IDS] = folder.read(TARGET_IDS)
    rows = {IDS: whole(settings, "vocab_size", LARGEST), TARGET_IDS: _target_rows(settings)}
    if TARGET_IDS not in files:
        beside = {name: folder.read(name) for name in (TOKENIZER, ADDED) if folder.has(name)}
        files[IDS] = _with_added(files[IDS], read_added(beside), rows[IDS], notes)
    for name in rows.keys() & files.keys():
        pieces = len(read_ids(files[name], name))
        if pieces > rows[name]:
            raise ValueError(
                f"{name} has {pieces:,} tokens, but {CONFIG} says {rows[name]:,}; if tokens were added, resize the "
                "model's embeddings and save it again"
            )
    source = read_ids(files[IDS], IDS)
    target = read_ids(files[TARGET_IDS], TARGET_IDS) if TARGET_IDS in files else source
    texts = {**SYMBOL_TEXTS, **named_symbols(tokenizing)}

    def given(key: str) -> Sequence[int]:
        """The ids under a key; generation_config.json has priority for the search, config.json for the model."""
        places = ((GENERATION, generation), (CONFIG, settings))
        for name, values in places if key in OF_SEARCH else reversed(places):
            value = values.get(key)
            if value is None:
                continue
            numbers: list[Any] = value if isinstance(value, list) and value and key == "eos_token_id" else [value]
            for number in numbers:
                if type(number) is not int or not 0 <= number < len(target):
                    raise ValueError(
                        f"{key} in {name} must be a whole number of 0 to {len(target) - 1:,}, not {number!r}"
                    )
            return numbers
        return []

    def symbol(name: str) -> int:
        """The id in the settings, or else the id of its text, which is the same on both sides."""
        text = texts[name]
        number = (given(f"{name}_id") or [source.get(text)])[0]
        if number is None or (not given(f"{name}_id") and target.get(text) != number):
            raise ValueError(f"{CONFIG} has no {name}_id, and {IDS} has no token {text}")
        return number

    pad, ends = symbol("pad_token"), given("eos_token_id")
    # The tokenizer ends a source text with this symbol.
    end = source.get(texts["eos_token"], symbol("eos_token"))
    if ends and end not in ends:
        raise ValueError(
            f"eos_token_id is {ends[0]}, and its tokenizer ends a text with {texts['eos_token']}, which is {end}; only "
            "one symbol can be both"
        )
    start = (given("decoder_start_token_id") or given("bos_token_id") or [pad])[0]
    symbols = Symbols(pad=pad, unknown=symbol("unk_token"), end=end, start=start)
    others = tuple(f"eos_token_id {number}" for number in ends if number != end)
    return PairTokenizer({**files, SYMBOLS: write_symbols(symbols)}), others


def _with_added(content: bytes, added: dict[int, AddedToken], rows: int, notes: list[str]) -> bytes:
    """vocab.json with the tokens that were added to it, if the model has rows for them."""
    ids = read_ids(content, IDS)
    more = {token.content: number for number, token in sorted(added.items()) if len(ids) <= number < rows}
    if not more:
        return content
    if typed := [text for text in more if not target_codes([text]) and not added[more[text]].special]:
        named = ", ".join(map(repr, typed[:NAMED])) + (", …" if len(typed) > NAMED else "")
        notes.append(f"Added tokens that typed text never produces: {named}.")
    return json.dumps({**ids, **more}, ensure_ascii=False).encode("utf-8")


def _embeddings(
    found: dict[str, Tensor], settings: dict[str, Any], notes: list[str], *, tie: bool, revisions: bool
) -> tuple[dict[str, Tensor], str]:
    """The embeddings of a file, which has up to four names for them, and which of ours are shared.

    If config.json says that two are shared, the file may have either. Files are often wrong here, so two embeddings
    that differ are an error.
    """
    shares = flag(settings, "share_encoder_decoder_embeddings", True)
    ties = flag(settings, "tie_word_embeddings", True)
    given = {name: found.pop(name) for name in (ENCODER_EMBEDDING, DECODER_EMBEDDING, SHARED, OUTPUT) if name in found}
    if shares and ties:
        groups = [[DECODER_EMBEDDING, SHARED, ENCODER_EMBEDDING, OUTPUT]]
    elif ties:
        groups = [[DECODER_EMBEDDING, OUTPUT]]
    else:
        groups = []
    for group in groups:
        there = [name for name in group if name in given]
        for name in there[1:]:
            if not torch.equal(given[name], given[there[0]]):
                if not tie:
                    mended = "try --revision refs/pr/1, which often fixes them, or " if revisions else ""
                    raise ValueError(
                        f"{there[0]} and {name} differ, and {CONFIG} says that they are one; {mended}take the first "
                        "for both with --tie"
                    )
                notes.append(f"{name} differs from {there[0]}, with which {CONFIG} ties it, and was left out.")
                given[name] = given[there[0]]
        if there:
            given |= dict.fromkeys(group, given[there[0]])
    source = given.get(ENCODER_EMBEDDING, given.get(SHARED))
    target = given.get(DECODER_EMBEDDING, given.get(SHARED))
    output = given.get(OUTPUT)
    for name, tensor in ((ENCODER_EMBEDDING, source), (DECODER_EMBEDDING, target), (OUTPUT, output)):
        if tensor is None:
            raise ValueError(f"the weights have no {name}; fetch the folder again")
    assert source is not None and target is not None and output is not None
    weights = {"target_embedding.weight": target}
    if torch.equal(target, output) and torch.equal(source, target):
        notes.append("Source embedding, target embedding and output layer are one matrix.")
        # Stored under the name that comes first in the model.
        return {"source_embedding.weight": source}, "all"
    weights["source_embedding.weight"] = source
    if torch.equal(target, output):
        notes.append("The output layer is the target embedding.")
        return weights, "target"
    notes.append("Source embedding, target embedding and output layer are three matrices.")
    return {**weights, "generator.weight": output}, "none"


def _positions(found: dict[str, Tensor], settings: dict[str, Any], notes: list[str]) -> dict[str, Tensor]:
    """Return the file's tables of positions if they differ from the formula's, else nothing."""
    tables = {side: found.pop(name) for side, name in POSITIONS.items() if name in found}
    width = whole(settings, "d_model", LARGEST)
    if not tables and width % 2 == 0:
        return {}
    formula = _formula(whole(settings, "max_position_embeddings", LARGEST), width)
    for side, table in tables.items():
        if table.shape != formula.shape:
            raise ValueError(f"{POSITIONS[side]} should be {tuple(formula.shape)}, but is {tuple(table.shape)}")
    if width % 2 == 0 and all(float((table - formula).abs().max()) <= SAME_POSITIONS for table in tables.values()):
        return {}
    notes.append(
        "The positions are those in the file, not the formula's." if tables else
        "The positions are a table, as the formula here is one for even widths."
    )
    return {
        f"{ours}_positions.table": tables.get(theirs, formula).clone()
        for ours, theirs in (("source", "encoder"), ("target", "decoder"))
    }


def _formula(rows: int, width: int) -> Tensor:
    """The positions that transformers computes: all sines, then all cosines; for an odd width one cosine fewer."""
    if width % 2 == 0:
        return torch.from_numpy(sinusoids(rows, width, halves=True)).float()
    angles = torch.arange(rows, dtype=torch.float64)[:, None] / 10_000 ** (
        2 * (torch.arange(width, dtype=torch.float64) // 2) / width
    )
    return torch.cat([angles[:, 0::2].sin(), angles[:, 1::2].cos()], dim=1).float()


def _layer(found: dict[str, Tensor], stack: str, layer: int) -> dict[str, Tensor]:
    """The weights of a layer by our names; they are removed from `found`."""
    theirs, ours = f"model.{stack}.layers.{layer}", f"{stack}_layers.{layer}"

    def taken(name: str) -> Tensor:
        if f"{theirs}.{name}" not in found:
            raise ValueError(f"the weights have no {theirs}.{name}; fetch the folder again")
        return found.pop(f"{theirs}.{name}")

    weights = {}
    for kind in ("weight", "bias"):
        for part in PARTS[stack]:
            attention = ATTENTION[part]
            projections = [taken(f"{attention}.{name}_proj.{kind}") for name in "qkv"]
            if len({tuple(projection.shape) for projection in projections}) != 1:
                raise ValueError(f"the three projections of {theirs}.{attention} differ in shape")
            weights[f"{ours}.{part}.in_projection.{kind}"] = torch.cat(projections)
            weights[f"{ours}.{part}.out_projection.{kind}"] = taken(f"{attention}.out_proj.{kind}")
            weights[f"{ours}.{part}_residual.norm.{kind}"] = taken(f"{NORMS[f'{part}_residual.norm']}.{kind}")
        for name, their in LINEAR.items():
            weights[f"{ours}.{name}.{kind}"] = taken(f"{their}.{kind}")
        norm = "feed_forward_residual.norm"
        weights[f"{ours}.{norm}.{kind}"] = taken(f"{NORMS[norm]}.{kind}")
    return weights
