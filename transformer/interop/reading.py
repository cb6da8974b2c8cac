"""Reads a folder of a Hugging Face translation model as a model of ours.

All families (`transformer.interop.families`) are the Transformer of the paper. The differences are around it: the place
of the norms, the positions, shared embeddings, the vocabulary, and rows that only fill up a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.foreign_files import Folder
from transformer.checkpoints.foreign_settings import CONFIG, GENERATION, activation, check_fit, flag, whole
from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.interop.families import FAMILIES, NAMED, Family
from transformer.interop.generation import generation_of, unapplied
from transformer.interop.model_card import ModelCard, read_card
from transformer.interop.vocabularies import read_vocabulary
from transformer.model.encodings import ENCODINGS
from transformer.model.transformer import Transformer
from transformer.model.undrawn import Undrawn
from transformer.text.vocabulary import Vocabulary

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
        config: model configuration.
        weights: its parameters by name, float32, as `named_parameters` lists them.
        tokenizer: its vocabulary.
        card: its model card.
        notes: decisions of the import, one sentence each.
    """

    config: TransformerConfig
    weights: dict[str, Tensor]
    tokenizer: Vocabulary
    card: ModelCard
    notes: tuple[str, ...]


def read_folder(
    folder: Folder, *, name: str, allow_pickle: bool = False, tie: bool = False, revisions: bool = False,
    languages: tuple[str | None, str | None] = (None, None),
) -> Imported:
    """Read a folder that a model and a tokenizer of Hugging Face's transformers have written.

    Args:
        folder: folder with config.json, the weights, and the files of the tokenizer.
        name: name of the model, which often contains its languages.
        allow_pickle: as in `Folder.weights`.
        tie: if config.json says that two embeddings are one but the file has two that differ, use the target's.
        revisions: whether another revision can be requested; then messages advise it.
        languages: codes of a text that asks for none, in a model with tokens for languages; None takes the folder's.

    Raises:
        CheckpointError: it is another kind of model, or a file is missing, damaged or does not match the others.
    """
    try:
        return _read(folder, name, allow_pickle=allow_pickle, tie=tie, revisions=revisions, languages=languages)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"The model in {folder.path} cannot be imported: {error}.") from error


def _read(
    folder: Folder, name: str, *, allow_pickle: bool, tie: bool, revisions: bool,
    languages: tuple[str | None, str | None],
) -> Imported:
    settings = folder.json(CONFIG)
    family = _family(settings, folder)
    generation = folder.json(GENERATION) if folder.has(GENERATION) else {}
    notes: list[str] = []
    rows = whole(settings, "vocab_size", LARGEST), _target_rows(settings)
    tokenizer, other_ends, named = read_vocabulary(folder, family, settings, generation, rows, languages, notes)
    found = folder.weights(
        allow_pickle=allow_pickle,
        otherwise=("a safetensors copy is often in --revision refs/pr/1; or " if revisions else "") + READ_PICKLE,
    )
    weights, tied = _embeddings(found, settings, notes, tie=tie, revisions=revisions)
    positions = _positions(found, family, settings, notes)
    config = _config(family, settings, tied, learned=bool(positions))
    weights |= positions
    for stack, ours in (("encoder", "source"), ("decoder", "target")):
        norms = {f"{ours}_norm": "layernorm_embedding"} if config.embedding_norm else {}
        norms |= {f"{stack}_norm": "layer_norm"} if config.norm == "pre" else {}
        for name_here, name_there in norms.items():
            for kind in ("weight", "bias"):
                weights[f"{name_here}.{kind}"] = _taken(found, f"model.{stack}.{name_there}.{kind}")
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(layers):
            weights |= _layer(found, stack, layer)
    weights["generator.bias"] = _bias(found, config.target_vocabulary, tokenizer.size)
    if found:
        raise ValueError(f"it has the tensor {min(found)}, which no {family.model} has")
    with torch.device("meta"), Undrawn():
        check_fit(Transformer(config), weights)
    config = _cut(config, weights, tokenizer, notes)
    pad = tokenizer.symbols.pad
    search = generation if generation else settings
    if [pad] in (search.get("bad_words_ids") or ()):
        weights["generator.bias"][pad] = NEVER
        notes.append("The padding token is left out of the softmax, as `generate` leaves it out of Hugging Face's.")
    asked = unapplied(search)
    config = replace(config, unapplied=(*other_ends, *asked), generation=generation_of(search, pad))
    if config.unapplied:
        notes.append(
            f"Settings of the folder that `generate` applies and this program does not: {', '.join(config.unapplied)}."
        )
    card = read_card(folder, name)
    return Imported(config, weights, tokenizer, replace(card, languages=named or card.languages), tuple(notes))


def _bias(found: dict[str, Tensor], rows: int, pieces: int) -> Tensor:
    """The bias of the output layer, one number for each row of it.

    transformers does not extend it when it pads the rows of the embedding; missing numbers are 0.
    """
    bias = found.pop(OUTPUT_BIAS, torch.zeros(rows)).reshape(-1)
    return torch.cat([bias, torch.zeros(max(rows - len(bias), 0))]) if len(bias) >= pieces else bias.clone()


def _cut(
    config: TransformerConfig, weights: dict[str, Tensor], tokenizer: Vocabulary, notes: list[str]
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


def _family(settings: dict[str, Any], folder: Folder) -> Family:
    if "source_vocabulary" in settings:
        raise CheckpointError(f"{folder.path} is a model folder of Attention Atlas already: use it with --model.")
    family = settings.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        named = f"a model of the family {family}" if isinstance(family, str) else "a model that names no family"
        raise CheckpointError(f"{folder.path} is {named}: only models of {NAMED} can be imported.")
    return FAMILIES[family]


def _config(family: Family, settings: dict[str, Any], tied: str, *, learned: bool) -> TransformerConfig:
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
        activation=activation(settings, family.activation),
        norm=family.norm,
        positions="learned" if learned else family.positions,
        embedding_norm=family.embedding_norm,
        max_positions=numbers["max_position_embeddings"],
        tied_embeddings=tied,  # pyright: ignore[reportArgumentType]
        scale_embedding=flag(settings, "scale_embedding", False),
        output_bias=True,
    )


def _target_rows(settings: dict[str, Any]) -> int:
    key = "vocab_size" if settings.get("decoder_vocab_size") is None else "decoder_vocab_size"
    return whole(settings, key, {key: LARGEST["vocab_size"]})


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


def _positions(
    found: dict[str, Tensor], family: Family, settings: dict[str, Any], notes: list[str]
) -> dict[str, Tensor]:
    """Return the file's tables of positions if they differ from the formula's, else nothing."""
    tables = {side: found.pop(name) for side, name in POSITIONS.items() if name in found}
    width, unused = whole(settings, "d_model", LARGEST), family.unused_positions
    most = whole(settings, "max_position_embeddings", LARGEST)
    if family.positions == "learned":
        for side, table in tables.items():
            if table.shape != (most + unused, width):
                raise ValueError(f"{POSITIONS[side]} should be {(most + unused, width)}, but is {tuple(table.shape)}")
        if len(tables) < len(POSITIONS):
            raise ValueError(f"the weights lack {' or '.join(POSITIONS.values())}; fetch the folder again")
        return {
            "source_positions.table": tables["encoder"][unused:].clone(),
            "target_positions.table": tables["decoder"][unused:].clone(),
        }
    if not tables and width % 2 == 0:
        return {}
    formula = _formula(family, most, width)
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


def _formula(family: Family, rows: int, width: int) -> Tensor:
    """The positions that transformers computes: all sines, then all cosines; for an odd width one cosine fewer."""
    if width % 2 == 0:
        return torch.from_numpy(ENCODINGS[family.positions].table(rows, width)).float()
    angles = torch.arange(rows, dtype=torch.float64)[:, None] / 10_000 ** (
        2 * (torch.arange(width, dtype=torch.float64) // 2) / width
    )
    return torch.cat([angles[:, 0::2].sin(), angles[:, 1::2].cos()], dim=1).float()


def _taken(found: dict[str, Tensor], name: str) -> Tensor:
    """A tensor, which is removed."""
    if name not in found:
        raise ValueError(f"the weights have no {name}; fetch the folder again")
    return found.pop(name)


def _layer(found: dict[str, Tensor], stack: str, layer: int) -> dict[str, Tensor]:
    """The weights of a layer by our names; they are removed from `found`."""
    theirs, ours = f"model.{stack}.layers.{layer}", f"{stack}_layers.{layer}"

    def taken(name: str) -> Tensor:
        return _taken(found, f"{theirs}.{name}")

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
