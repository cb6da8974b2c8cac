"""Converts the tensors of a Hugging Face translation model to this project's parameter names and shapes."""

from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.huggingface_settings import CONFIG, boolean_setting
from transformer.config import TransformerConfig
from transformer.interop.families import Family
from transformer.model.encodings import ENCODINGS

# A position table counts as sinusoidal if it differs from the formula by at most this much.
POSITION_TOLERANCE = 1e-6

ENCODER_EMBEDDING, DECODER_EMBEDDING = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
SHARED, OUTPUT, OUTPUT_BIAS = "model.shared.weight", "lm_head.weight", "final_logits_bias"
POSITIONS = {side: f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")}
# Maps this project's names of the modules in a layer to Hugging Face's names. The query, key and value
# projections are not listed separately, because this project, unlike Hugging Face, stores them in one matrix.
ATTENTION = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
NORMS = {
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
}
LINEAR = {"feed_forward.expand": "fc1", "feed_forward.contract": "fc2"}
ATTENTION_PARTS = {"encoder": ("self_attention",), "decoder": ("self_attention", "cross_attention")}


def embeddings(
    tensors: dict[str, Tensor], settings: dict[str, Any], notes: list[str], *, tie: bool, revisions: bool
) -> tuple[dict[str, Tensor], str]:
    """Return the embeddings, keyed by this project's names, and the value for `TransformerConfig.tied_embeddings`.

    The weights file may contain up to four embedding tensors. If config.json ties two of them, one may be missing.
    config.json is often wrong about ties, so tied tensors with different values are an error, unless `tie` is set.
    """
    shares = boolean_setting(settings, "share_encoder_decoder_embeddings", True)
    ties = boolean_setting(settings, "tie_word_embeddings", True)
    stored = (ENCODER_EMBEDDING, DECODER_EMBEDDING, SHARED, OUTPUT)
    tables = {name: tensors.pop(name) for name in stored if name in tensors}
    if shares and ties:
        groups = [[DECODER_EMBEDDING, SHARED, ENCODER_EMBEDDING, OUTPUT]]
    elif ties:
        groups = [[DECODER_EMBEDDING, OUTPUT]]
    else:
        groups = []
    for group in groups:
        there = [name for name in group if name in tables]
        for name in there[1:]:
            if not torch.equal(tables[name], tables[there[0]]):
                if not tie:
                    mended = "try --revision refs/pr/1, which often has corrected weights, or " if revisions else ""
                    raise ValueError(
                        f"{there[0]} and {name} differ, but {CONFIG} says that they are the same; {mended}use the "
                        "first for both with --tie"
                    )
                notes.append(f"{name} was replaced by {there[0]}: {CONFIG} ties the two, but they differ.")
                tables[name] = tables[there[0]]
        if there:
            tables |= dict.fromkeys(group, tables[there[0]])
    source = tables.get(ENCODER_EMBEDDING, tables.get(SHARED))
    target = tables.get(DECODER_EMBEDDING, tables.get(SHARED))
    output = tables.get(OUTPUT)
    for name, tensor in ((ENCODER_EMBEDDING, source), (DECODER_EMBEDDING, target), (OUTPUT, output)):
        if tensor is None:
            raise ValueError(f"the tensor {name} is missing from the weights; fetch the folder again")
    assert source is not None and target is not None and output is not None
    weights = {"target_embedding.weight": target}
    if torch.equal(target, output) and torch.equal(source, target):
        notes.append("The source embedding, the target embedding and the output layer share one matrix.")
        # The shared matrix is stored under the name that comes first in the model.
        return {"source_embedding.weight": source}, "all"
    weights["source_embedding.weight"] = source
    if torch.equal(target, output):
        notes.append("The target embedding and the output layer share one matrix.")
        return weights, "target"
    notes.append("The source embedding, the target embedding and the output layer have separate matrices.")
    return {**weights, "generator.weight": output}, "none"


def positions(tensors: dict[str, Tensor], family: Family, most: int, width: int, notes: list[str]) -> dict[str, Tensor]:
    """Return the model's position tables, or an empty dict if this project's sinusoidal formula can replace them.

    Args:
        tensors: tensors in the weights file, from which the position tables are removed.
        family: family of the model.
        most: number of positions.
        width: number of values per position.
        notes: list to which the importer's decisions are appended.
    """
    tables = {side: tensors.pop(name) for side, name in POSITIONS.items() if name in tensors}
    unused = family.unused_positions
    if family.positions == "learned":
        for side, table in tables.items():
            if table.shape != (most + unused, width):
                shape = most + unused, width
                raise ValueError(f"{POSITIONS[side]} should have shape {shape}, not {tuple(table.shape)}")
        for side, name in POSITIONS.items():
            if side not in tables:
                raise ValueError(f"the tensor {name} is missing from the weights; fetch the folder again")
        return {
            "source_positions.table": tables["encoder"][unused:].clone(),
            "target_positions.table": tables["decoder"][unused:].clone(),
        }
    if not tables and width % 2 == 0:
        return {}
    formula = _formula(family, most, width)
    for side, table in tables.items():
        if table.shape != formula.shape:
            raise ValueError(f"{POSITIONS[side]} should have shape {tuple(formula.shape)}, not {tuple(table.shape)}")
    if width % 2 == 0 and all(float((table - formula).abs().max()) <= POSITION_TOLERANCE for table in tables.values()):
        return {}
    notes.append(
        "The positions come from the file, because they differ from the formula."
        if tables
        else "The positions are stored as a table, because this program's formula supports only even widths."
    )
    return {
        f"{ours}_positions.table": tables.get(stack, formula).clone()
        for ours, stack in (("source", "encoder"), ("target", "decoder"))
    }


def layers(tensors: dict[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """Remove from `tensors` the weights of all layers, and of the norms before the first layer and after the last.

    Returns:
        The removed weights, by this project's names.
    """
    weights = {}
    for stack, side, count in (
        ("encoder", "source", config.encoder_layers),
        ("decoder", "target", config.decoder_layers),
    ):
        norms = {f"{side}_norm": "layernorm_embedding"} if config.embedding_norm else {}
        norms |= {f"{stack}_norm": "layer_norm"} if config.norm == "pre" else {}
        for own_name, their_name in norms.items():
            for kind in ("weight", "bias"):
                weights[f"{own_name}.{kind}"] = _take(tensors, f"model.{stack}.{their_name}.{kind}")
        for layer in range(count):
            weights |= _layer(tensors, stack, layer)
    return weights


def output_bias(tensors: dict[str, Tensor], rows: int, tokens: int) -> Tensor:
    """Return the output layer's bias, one number per row.

    transformers does not extend the bias when it adds padding rows to the embedding, so missing numbers become 0.
    """
    bias = tensors.pop(OUTPUT_BIAS, torch.zeros(rows)).reshape(-1)
    return torch.cat([bias, torch.zeros(max(rows - len(bias), 0))]) if len(bias) >= tokens else bias.clone()


def _formula(family: Family, rows: int, width: int) -> Tensor:
    """Return Hugging Face's position table: in each row, all sines, then all cosines (one fewer if `width` is odd)."""
    if width % 2 == 0:
        return torch.from_numpy(ENCODINGS[family.positions].table(rows, width)).float()
    angles = torch.arange(rows, dtype=torch.float64)[:, None] / 10_000 ** (
        2 * (torch.arange(width, dtype=torch.float64) // 2) / width
    )
    return torch.cat([angles[:, 0::2].sin(), angles[:, 1::2].cos()], dim=1).float()


def _take(tensors: dict[str, Tensor], name: str) -> Tensor:
    if name not in tensors:
        raise ValueError(f"the tensor {name} is missing from the weights; fetch the folder again")
    return tensors.pop(name)


def _layer(tensors: dict[str, Tensor], stack: str, layer: int) -> dict[str, Tensor]:
    """Remove a layer's weights from `tensors` and return them under this project's names."""
    their_prefix, own_prefix = f"model.{stack}.layers.{layer}", f"{stack}_layers.{layer}"

    def taken(name: str) -> Tensor:
        return _take(tensors, f"{their_prefix}.{name}")

    weights = {}
    for kind in ("weight", "bias"):
        for part in ATTENTION_PARTS[stack]:
            attention = ATTENTION[part]
            projections = [taken(f"{attention}.{name}_proj.{kind}") for name in "qkv"]
            if len({tuple(projection.shape) for projection in projections}) != 1:
                raise ValueError(f"the three projections of {their_prefix}.{attention} differ in shape")
            weights[f"{own_prefix}.{part}.in_projection.{kind}"] = torch.cat(projections)
            weights[f"{own_prefix}.{part}.out_projection.{kind}"] = taken(f"{attention}.out_proj.{kind}")
            weights[f"{own_prefix}.{part}_residual.norm.{kind}"] = taken(f"{NORMS[f'{part}_residual.norm']}.{kind}")
        for name, their in LINEAR.items():
            weights[f"{own_prefix}.{name}.{kind}"] = taken(f"{their}.{kind}")
        norm = "feed_forward_residual.norm"
        weights[f"{own_prefix}.{norm}.{kind}"] = taken(f"{NORMS[norm]}.{kind}")
    return weights
