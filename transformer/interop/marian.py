"""A Hugging Face Marian folder (the OPUS-MT models, Tiedemann and Thottingal 2020) as a model of ours.

Marian is the Transformer of the paper with its norms after each sub-layer, so the model needs no change. What differs
is around it: which embedding is which, what the symbols are numbered, and a padding row that Hugging Face added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.foreign_files import Folder
from transformer.checkpoints.foreign_settings import CONFIG, check_fit, flag, whole
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.interop.model_card import ModelCard, read_card
from transformer.model.positions import sinusoidal_positions
from transformer.model.transformer import Transformer
from transformer.model.undrawn import Undrawn
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
from transformer.text.vocabulary import Symbols

GENERATION, TOKENIZER = "generation_config.json", "tokenizer_config.json"
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
# Larger than any there is; beyond, a few bytes of JSON would ask for all memory.
LARGEST = {
    "d_model": 8192, "encoder_layers": 64, "decoder_layers": 64, "encoder_attention_heads": 256,
    "decoder_attention_heads": 256, "encoder_ffn_dim": 65_536, "decoder_ffn_dim": 65_536, "vocab_size": 1_000_000,
    "max_position_embeddings": 65_536,
}
# Its probability is then exactly 0 in float32, while the bias is finite, and a number that float16 has.
NEVER = -1e4
# A table in a file is the formula's if it is no further from it.
SAME_POSITIONS = 1e-6

ENCODER_EMBEDDING, DECODER_EMBEDDING = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
SHARED, OUTPUT, OUTPUT_BIAS = "model.shared.weight", "lm_head.weight", "final_logits_bias"
POSITIONS = {side: f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
# Ours, and theirs within a layer; the three projections of an attention are one matrix here.
ATTENTION = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
NORMS = {
    "self_attention_residual.norm": "self_attn_layer_norm", "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
}
LINEAR = {"feed_forward.expand": "fc1", "feed_forward.contract": "fc2"}
PARTS = {"encoder": ("self_attention",), "decoder": ("self_attention", "cross_attention")}


@dataclass(frozen=True, eq=False)
class Imported:
    """What a folder holds, in our terms.

    Attributes:
        config: of the model.
        weights: its parameters by name, float32, as `named_parameters` lists them.
        tokenizer: its vocabulary.
        card: what it says of itself.
        notes: what was decided on the way, a sentence each.
    """

    config: TransformerConfig
    weights: dict[str, Tensor]
    tokenizer: PairTokenizer
    card: ModelCard
    notes: tuple[str, ...]


def read_marian(folder: Folder, *, name: str, allow_pickle: bool = False, tie: bool = False) -> Imported:
    """Read a folder that Hugging Face's `MarianMTModel` and `MarianTokenizer` have written.

    Args:
        folder: with config.json, model.safetensors, source.spm, target.spm, vocab.json.
        name: of the model, which often tells its languages.
        allow_pickle: as in `Folder.weights`.
        tie: where config.json says that two embeddings are one and the file has two that differ, take the target's.

    Raises:
        CheckpointError: it is another kind of model, or a file is missing, damaged or does not fit the others.
    """
    try:
        return _read(folder, name, allow_pickle=allow_pickle, tie=tie)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"The model in {folder.path} cannot be imported: {error}.") from error


def _read(folder: Folder, name: str, *, allow_pickle: bool, tie: bool) -> Imported:
    settings = folder.json(CONFIG)
    _check_family(settings, folder)
    tokenizer = _vocabulary(folder, settings)
    found = folder.weights(allow_pickle=allow_pickle)
    notes: list[str] = []
    weights, tied = _embeddings(found, settings, notes, tie=tie)
    positions = _positions(found, settings, notes)
    config = _config(settings, tokenizer, tied, learned=bool(positions))
    weights |= positions
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(layers):
            weights |= _layer(found, stack, layer)
    bias = found.pop(OUTPUT_BIAS, torch.zeros(config.target_vocabulary)).reshape(-1).clone()
    weights["generator.bias"] = bias
    if found:
        raise ValueError(f"it has a tensor that no Marian model has, {min(found)}")
    with torch.device("meta"), Undrawn():
        check_fit(Transformer(config), weights)
    bias[tokenizer.symbols.pad] = NEVER
    notes.append("The padding piece is left out of the softmax, as `generate` leaves it out of Hugging Face's.")
    return Imported(config, weights, tokenizer, read_card(folder, name), tuple(notes))


def _check_family(settings: dict[str, Any], folder: Folder) -> None:
    if "source_vocabulary" in settings:
        raise CheckpointError(f"{folder.path} is a model folder of Attention Atlas already: use it with --model.")
    family = settings.get("model_type")
    if family != "marian":
        named = f"a model of the family {family}" if isinstance(family, str) else "a model that names no family"
        raise CheckpointError(
            f"{folder.path} is {named}: only Marian models can be imported, as Helsinki-NLP/opus-mt-en-fr is one."
        )


def _config(settings: dict[str, Any], tokenizer: PairTokenizer, tied: str, *, learned: bool) -> TransformerConfig:
    """The shape of the model.

    Raises:
        ValueError: it has one that this Transformer does not have.
    """
    numbers = {name: whole(settings, name, LARGEST) for name in LARGEST if name != "vocab_size"}
    for ours, (first, second) in {
        "heads": ("encoder_attention_heads", "decoder_attention_heads"),
        "feed-forward widths": ("encoder_ffn_dim", "decoder_ffn_dim"),
    }.items():
        if numbers[first] != numbers[second]:
            raise ValueError(f"its stacks have different {ours}, {numbers[first]} and {numbers[second]}")
    activation = settings.get("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise ValueError(f"its activation is {activation!r}, and there is {', '.join(ACTIVATIONS)}")
    dropout = settings.get("dropout", 0.1)
    return TransformerConfig(
        source_vocabulary=tokenizer.source_size,
        target_vocabulary=tokenizer.size,
        d_model=numbers["d_model"],
        heads=numbers["encoder_attention_heads"],
        encoder_layers=numbers["encoder_layers"],
        decoder_layers=numbers["decoder_layers"],
        d_ff=numbers["encoder_ffn_dim"],
        dropout=dropout,
        activation=ACTIVATIONS[activation],  # pyright: ignore[reportArgumentType]
        norm="post",
        positions="learned" if learned else "sinusoidal_halves",
        max_positions=numbers["max_position_embeddings"],
        tied_embeddings=tied,  # pyright: ignore[reportArgumentType]
        scale_embedding=flag(settings, "scale_embedding", False),
        output_bias=True,
    )


def _vocabulary(folder: Folder, settings: dict[str, Any]) -> PairTokenizer:
    tokenizing = folder.json(TOKENIZER) if folder.has(TOKENIZER) else {}
    generation = folder.json(GENERATION) if folder.has(GENERATION) else {}
    files = {name: folder.read(name) for name in (SOURCE, TARGET, IDS)}
    if tokenizing.get("separate_vocabs") is True:
        files[TARGET_IDS] = folder.read(TARGET_IDS)
    target_name = TARGET_IDS if TARGET_IDS in files else IDS
    source, target = read_ids(files[IDS], IDS), read_ids(files[target_name], target_name)
    size = whole(settings, "vocab_size", LARGEST)
    for name, ids, pieces in ((IDS, source, size), (target_name, target, settings.get("decoder_vocab_size") or size)):
        if len(ids) != pieces:
            raise ValueError(f"{name} has {len(ids):,} pieces, and {CONFIG} says {pieces!r}")

    def symbol(text: str, key: str) -> int:
        """As the settings number it, or else by its usual text, which has one number on both sides."""
        number = settings.get(key, generation.get(key, source.get(text)))
        if type(number) is not int or (key not in settings and key not in generation and target.get(text) != number):
            raise ValueError(f"{CONFIG} has no {key}, and {IDS} no piece {text}")
        return number

    pad = symbol("<pad>", "pad_token_id")
    symbols = Symbols(
        pad=pad, unknown=symbol("<unk>", "unk_token_id"), end=symbol("</s>", "eos_token_id"),
        start=settings.get("decoder_start_token_id", generation.get("decoder_start_token_id", pad)),
    )
    return PairTokenizer({**files, SYMBOLS: write_symbols(symbols)})


def _embeddings(
    found: dict[str, Tensor], settings: dict[str, Any], notes: list[str], *, tie: bool
) -> tuple[dict[str, Tensor], str]:
    """The embeddings that a file has under up to four names, and which of ours are one: as the tensors say.

    Where config.json says that two are one, the file may have either; it has been written wrong often enough that two
    which differ are not believed.
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
                    raise ValueError(
                        f"{there[0]} and {name} differ, and {CONFIG} says that they are one; try --revision refs/pr/1, "
                        "which often has them mended, or --tie to take the first for both"
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
        # Listed under the name that comes first in the model.
        return {"source_embedding.weight": source}, "all"
    weights["source_embedding.weight"] = source
    if torch.equal(target, output):
        notes.append("The output layer is the target embedding.")
        return weights, "target"
    notes.append("Source embedding, target embedding and output layer are three matrices.")
    return {**weights, "generator.weight": output}, "none"


def _positions(found: dict[str, Tensor], settings: dict[str, Any], notes: list[str]) -> dict[str, Tensor]:
    """The tables of positions if the file has others than the formula's; empty otherwise."""
    tables = {side: found.pop(name) for side, name in POSITIONS.items() if name in found}
    if not tables:
        return {}
    formula = sinusoidal_positions(
        whole(settings, "max_position_embeddings", LARGEST), whole(settings, "d_model", LARGEST), halves=True
    )
    for side, table in tables.items():
        if table.shape != formula.shape:
            raise ValueError(f"{POSITIONS[side]} should be {tuple(formula.shape)} and is {tuple(table.shape)}")
    if all(float((table - formula).abs().max()) <= SAME_POSITIONS for table in tables.values()):
        return {}
    notes.append("The positions are those in the file, not the formula's.")
    return {
        f"{ours}_positions.table": tables.get(theirs, formula)
        for ours, theirs in (("source", "encoder"), ("target", "decoder"))
    }


def _layer(found: dict[str, Tensor], stack: str, layer: int) -> dict[str, Tensor]:
    """The weights of a layer by our names; they are taken out of `found`."""
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
