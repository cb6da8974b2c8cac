"""A GPT-2 folder of Hugging Face's (Radford et al. 2019) as a language model of ours.

GPT-2 is the decoder-only Transformer with pre-norm and learned positions, so the model needs no change. Its matrices
are stored as [inputs, outputs], ours as [outputs, inputs].
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.foreign_files import Folder
from transformer.checkpoints.foreign_settings import CONFIG, check_fit, whole
from transformer.config import LanguageModelConfig
from transformer.errors import CheckpointError
from transformer.model.language_model import LanguageModel
from transformer.model.undrawn import Undrawn
from transformer.text.byte_tokenizer import MERGES, ByteTokenizer
from transformer.text.pair_tokenizer import IDS

ACTIVATIONS = {
    "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu", "silu": "silu",
    "swish": "silu",
}
# Larger than any there is; beyond, a few bytes of JSON would ask for all memory.
LARGEST = {
    "n_embd": 8192, "n_layer": 96, "n_head": 256, "n_inner": 65_536, "n_positions": 65_536, "vocab_size": 1_000_000
}
# What other settings must be, because the model computes nothing else; a folder need not state them.
REQUIRED = {
    "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False,
    "tie_word_embeddings": True, "layer_norm_epsilon": 1e-5,
}
# Causal masks, which old files store beside the weights.
MASK = re.compile(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias")
PREFIX, OUTPUT = "transformer.", "lm_head.weight"
EMBEDDING, POSITIONS = "wte.weight", "wpe.weight"
# Ours and theirs within a layer.
NORMS = {"self_attention_residual.norm": "ln_1", "feed_forward_residual.norm": "ln_2"}
LINEAR = {
    "self_attention.in_projection": "attn.c_attn", "self_attention.out_projection": "attn.c_proj",
    "feed_forward.expand": "mlp.c_fc", "feed_forward.contract": "mlp.c_proj",
}


@dataclass(frozen=True, eq=False)
class ImportedLanguageModel:
    """What a folder holds, in our terms.

    Attributes:
        model: in evaluation mode.
        tokenizer: its vocabulary.
    """

    model: LanguageModel
    tokenizer: ByteTokenizer


def read_gpt2(folder: Folder) -> ImportedLanguageModel:
    """Read a folder that Hugging Face's `GPT2LMHeadModel` and `GPT2Tokenizer` have written.

    Args:
        folder: with config.json, model.safetensors, vocab.json and merges.txt.

    Raises:
        CheckpointError: it is another kind of model, or a file is missing, damaged or does not fit the others.
    """
    try:
        return _read(folder)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"The model in {folder.path} cannot be read: {error}.") from error


def _read(folder: Folder) -> ImportedLanguageModel:
    settings = folder.json(CONFIG)
    if settings.get("model_type") != "gpt2":
        raise CheckpointError(
            f"{folder.path} is no GPT-2 model: model_type in {CONFIG} is {settings.get('model_type')!r}, not 'gpt2'."
        )
    tokenizer = ByteTokenizer({name: folder.read(name) for name in (IDS, MERGES)})
    config = _config(settings)
    if tokenizer.size != config.vocabulary:
        raise ValueError(f"{IDS} has {tokenizer.size:,} pieces, and vocab_size in {CONFIG} says {config.vocabulary:,}")
    for name in ("bos_token_id", "eos_token_id"):
        if settings.get(name, tokenizer.symbols.end) != tokenizer.symbols.end:
            raise ValueError(f"{name} in {CONFIG} is {settings[name]!r}, and {IDS} says {tokenizer.symbols.end}")
    weights = _weights(folder, config)
    with torch.device("meta"), Undrawn():
        model = LanguageModel(config, tokenizer.symbols)
    check_fit(model, weights)
    model.load_state_dict({**weights, "generator.weight": weights["embedding.weight"]}, assign=True)
    model.generator.weight = model.embedding.weight
    return ImportedLanguageModel(model.eval().requires_grad_(False), tokenizer)


def _config(settings: dict[str, Any]) -> LanguageModelConfig:
    """The shape of the model.

    Raises:
        ValueError: it has one that `LanguageModel` does not have.
    """
    for name, value in REQUIRED.items():
        if settings.get(name, value) != value:
            raise ValueError(f"{name} in {CONFIG} is {settings[name]!r}, and only {value!r} can be computed")
    activation = settings.get("activation_function", "gelu_new")
    if activation not in ACTIVATIONS:
        raise ValueError(f"its activation is {activation!r}, and there is {', '.join(ACTIVATIONS)}")
    d_model = whole(settings, "n_embd", LARGEST)
    return LanguageModelConfig(
        vocabulary=whole(settings, "vocab_size", LARGEST), d_model=d_model, heads=whole(settings, "n_head", LARGEST),
        layers=whole(settings, "n_layer", LARGEST), max_positions=whole(settings, "n_positions", LARGEST),
        d_ff=4 * d_model if settings.get("n_inner") is None else whole(settings, "n_inner", LARGEST),
        dropout=settings.get("resid_pdrop", 0.1),
        activation=ACTIVATIONS[activation],  # pyright: ignore[reportArgumentType]
    )


def _weights(folder: Folder, config: LanguageModelConfig) -> dict[str, Tensor]:
    """The parameters by our names, float32.

    Raises:
        ValueError: one is missing, one too many, or two contradict each other.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in folder.weights(allow_pickle=False, left_out=MASK).items():
        # Old files have the names without the model's own.
        short = name.removeprefix(PREFIX)
        if short in found:
            raise ValueError(f"the weights have {short} twice, with and without {PREFIX!r}")
        found[short] = tensor

    def taken(name: str) -> Tensor:
        if name not in found:
            raise ValueError(f"the weights have no {name}; fetch the folder again")
        return found.pop(name)

    output = found.pop(OUTPUT, None)
    weights = {"embedding.weight": taken(EMBEDDING), "positions.table": taken(POSITIONS)}
    if output is not None and not torch.equal(output, weights["embedding.weight"]):
        raise ValueError(f"{OUTPUT} and {EMBEDDING} differ, and {CONFIG} says that they are one")
    for kind in ("weight", "bias"):
        weights[f"norm.{kind}"] = taken(f"ln_f.{kind}")
        for layer in range(config.layers):
            for ours, theirs in NORMS.items():
                weights[f"layers.{layer}.{ours}.{kind}"] = taken(f"h.{layer}.{theirs}.{kind}")
            for ours, theirs in LINEAR.items():
                # [inputs, outputs] -> [outputs, inputs]; a bias has one axis.
                matrix = taken(f"h.{layer}.{theirs}.{kind}")
                weights[f"layers.{layer}.{ours}.{kind}"] = matrix.mT.contiguous() if matrix.ndim == 2 else matrix
    if found:
        raise ValueError(f"it has a tensor that no GPT-2 model has, {min(found)}")
    return weights
