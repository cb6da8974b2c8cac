"""Converts a Hugging Face GPT-2 folder (Radford et al. 2019) to a `Transformer` and a `ByteTokenizer`.

GPT-2 is a decoder-only Transformer with pre-norm and learned positional embeddings, which `Transformer` supports. GPT-2
stores matrices as [inputs, outputs]; this project stores them as [outputs, inputs].
"""

import math
import re
from dataclasses import replace
from typing import Any, NamedTuple

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
from transformer.config import TransformerConfig, decoder_only
from transformer.errors import CheckpointError
from transformer.model.skipped_initialisation import SkippedInitialisation
from transformer.model.transformer import Transformer
from transformer.text.added_tokens import ADDED, TOKENIZER
from transformer.text.byte_tokenizer import ByteTokenizer
from transformer.text.byte_vocabulary import MERGES
from transformer.text.pair_tokenizer import IDS
from transformer.text.segmenters import ONE_FILE

# Size limits, above the sizes of every existing GPT-2 model, so that an invalid config.json cannot use up all memory.
MAX_SIZES = {
    "n_embd": 8192,
    "n_layer": 96,
    "n_head": 256,
    "n_inner": 65_536,
    "n_positions": 65_536,
    "vocab_size": 1_000_000,
}
# Default sizes for a config.json that omits them.
DEFAULT_SIZES = {"n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50_257}
# Settings with only one supported value; config.json may omit them.
REQUIRED_SETTINGS = {"add_cross_attention": False, "layer_norm_epsilon": 1e-5}
# Names of causal masks, which old weight files contain in addition to the weights.
CAUSAL_MASK = re.compile(r"(transformer\.)?h\.\d+\.attn\.(masked_)?bias")
PREFIX, OUTPUT = "transformer.", "lm_head.weight"
EMBEDDING, POSITIONS = "wte.weight", "wpe.weight"
OWN_EMBEDDING = "target_embedding.weight"
# NORMS and LINEAR map the names of a layer's modules in this project to their names in GPT-2.
NORMS = {"self_attention_residual.norm": "ln_1", "feed_forward_residual.norm": "ln_2"}
LINEAR = {
    "self_attention.in_projection": "attn.c_attn",
    "self_attention.out_projection": "attn.c_proj",
    "feed_forward.expand": "mlp.c_fc",
    "feed_forward.contract": "mlp.c_proj",
}


class ImportedLanguageModel(NamedTuple):
    """A GPT-2 model, converted to this project's classes.

    Attributes:
        model: the model, in evaluation mode.
        tokenizer: the model's tokenizer.
        weights: names of the weight files.
    """

    model: Transformer
    tokenizer: ByteTokenizer
    weights: tuple[str, ...]


def read_gpt2(folder: HuggingFaceFolder) -> ImportedLanguageModel:
    """Load a folder saved by Hugging Face's `GPT2LMHeadModel` and `GPT2Tokenizer`.

    Args:
        folder: folder with config.json, one or more safetensors files, and either tokenizer.json, or vocab.json and
            merges.txt.

    Raises:
        CheckpointError: this is not a GPT-2 model, or a file is missing, damaged or inconsistent with another file.
    """
    try:
        return _read(folder)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"The model in {folder.path} cannot be read: {error}.") from error


def _read(folder: HuggingFaceFolder) -> ImportedLanguageModel:
    settings = folder.json(CONFIG)
    if settings.get("model_type") != "gpt2":
        raise CheckpointError(
            f"{folder.path} is not a GPT-2 model: model_type in {CONFIG} is {settings.get('model_type')!r}, not 'gpt2'."
        )
    config = _config(settings)
    tokenizer = _vocabulary(folder, settings, config.target_vocabulary)
    weights = _weights(folder, settings, config)
    config = replace(config, tied_embeddings="none" if "generator.weight" in weights else "target")
    with torch.device("meta"), SkippedInitialisation():
        check_fit(Transformer(config), weights)
    # Embedding rows beyond the vocabulary only pad the matrix to a round size.
    for name in sorted({OWN_EMBEDDING, "generator.weight"} & weights.keys()):
        weights[name] = weights[name][: tokenizer.size].contiguous()
    with torch.device("meta"), SkippedInitialisation():
        model = Transformer(replace(config, target_vocabulary=tokenizer.size), tokenizer.symbols)
    model.load_state_dict({"generator.weight": weights[OWN_EMBEDDING], **weights}, assign=True)
    if config.tied_embeddings == "target":
        model.generator.weight = model.target_embedding.weight
    return ImportedLanguageModel(model.eval().requires_grad_(False), tokenizer, folder.weight_files())


def _vocabulary(folder: HuggingFaceFolder, settings: dict[str, Any], rows: int) -> ByteTokenizer:
    """Load the tokenizer from a folder; `rows` is the number of embedding rows.

    Raises:
        CheckpointError: a tokenizer file is missing or cannot be read.
        ValueError: the tokenizer is unsupported or damaged.
    """
    if not any(folder.has(name) for name in (ONE_FILE, IDS, MERGES)):
        raise ValueError(f"no tokenizer was found; save {ONE_FILE}, or {IDS} and {MERGES}, in the model's folder")
    needed = (ONE_FILE,) if folder.has(ONE_FILE) else (IDS, MERGES)
    beside = (TOKENIZER, ADDED)
    files = {name: folder.read(name) for name in (*needed, *(name for name in beside if folder.has(name)))}
    generation = folder.json(GENERATION) if folder.has(GENERATION) else {}

    def candidates(key: str) -> list[object]:
        values = [each.get(key) for each in (settings, generation)]
        return [one for value in values for one in (value if isinstance(value, list) else [value]) if type(one) is int]

    return ByteTokenizer(files, rows=rows, start=candidates("bos_token_id"), end=candidates("eos_token_id"))


def _config(settings: dict[str, Any]) -> TransformerConfig:
    """Convert the values in a GPT-2 config.json to a `TransformerConfig`.

    Raises:
        ValueError: a setting is invalid or not supported.
    """
    for name, value in REQUIRED_SETTINGS.items():
        if settings.get(name, value) != value:
            raise ValueError(f"{name} in {CONFIG} is {settings[name]!r}, but only {value!r} is supported")
    sizes = {name: integer_setting({**DEFAULT_SIZES, **settings}, name, MAX_SIZES) for name in DEFAULT_SIZES}
    return decoder_only(
        vocabulary=sizes["vocab_size"],
        d_model=sizes["n_embd"],
        heads=sizes["n_head"],
        layers=sizes["n_layer"],
        max_positions=sizes["n_positions"],
        d_ff=4 * sizes["n_embd"]
        if settings.get("n_inner") is None
        else integer_setting(settings, "n_inner", MAX_SIZES),
        dropout=settings.get("resid_pdrop", 0.1),
        activation=activation_setting(settings, "gelu_new"),
    )


def _scale(settings: dict[str, Any], config: TransformerConfig, layer: int) -> float:
    """Return the factor by which GPT-2's attention scores in a layer differ from those computed by `Transformer`.

    Raises:
        ValueError: a setting is neither true nor false.
    """
    scale = 1.0 if boolean_setting(settings, "scale_attn_weights", True) else math.sqrt(config.d_head)
    return scale / (layer + 1) if boolean_setting(settings, "scale_attn_by_inverse_layer_idx", False) else scale


def _weights(folder: HuggingFaceFolder, settings: dict[str, Any], config: TransformerConfig) -> dict[str, Tensor]:
    """Return float32 parameters by their names in `Transformer`; an output layer equal to the embedding is omitted.

    Raises:
        ValueError: a parameter is missing or unknown, or contradicts another parameter or config.json.
    """
    own_weights: dict[str, Tensor] = {}
    for name, tensor in folder.weights(allow_pickle=False, left_out=CAUSAL_MASK).items():
        # The parameter names in old weight files have no prefix.
        short = name.removeprefix(PREFIX)
        if short in own_weights:
            raise ValueError(f"the weights contain {short} twice, with and without the prefix {PREFIX!r}")
        own_weights[short] = tensor

    def taken(name: str) -> Tensor:
        if name not in own_weights:
            raise ValueError(f"the tensor {name} is missing from the weights; fetch the folder again")
        return own_weights.pop(name)

    output = own_weights.pop(OUTPUT, None)
    weights = {OWN_EMBEDDING: taken(EMBEDDING), "target_positions.table": taken(POSITIONS)}
    if output is None and not boolean_setting(settings, "tie_word_embeddings", True):
        raise ValueError(
            f"the tensor {OUTPUT} is missing from the weights, and {CONFIG} does not tie it to {EMBEDDING}"
        )
    # Like Hugging Face's library, keep the matrices separate if they differ, even if config.json ties them.
    if output is not None and not torch.equal(output, weights[OWN_EMBEDDING]):
        weights["generator.weight"] = output
    for kind in ("weight", "bias"):
        weights[f"decoder_norm.{kind}"] = taken(f"ln_f.{kind}")
        for layer in range(config.decoder_layers):
            for own_name, gpt2_name in NORMS.items():
                weights[f"decoder_layers.{layer}.{own_name}.{kind}"] = taken(f"h.{layer}.{gpt2_name}.{kind}")
            for own_name, gpt2_name in LINEAR.items():
                # Weights: [inputs, outputs] -> [outputs, inputs]. A bias has one axis and stays as it is.
                matrix = taken(f"h.{layer}.{gpt2_name}.{kind}")
                turned = matrix.mT.contiguous() if matrix.ndim == 2 else matrix
                weights[f"decoder_layers.{layer}.{own_name}.{kind}"] = turned
            scale = _scale(settings, config, layer)
            if scale != 1:
                # Scores are proportional to the queries, which the first `d_model` rows of the projection compute.
                weights[f"decoder_layers.{layer}.self_attention.in_projection.{kind}"][: config.d_model] *= scale
    if own_weights:
        raise ValueError(
            f"the weights contain the tensor {min(own_weights)}, which no GPT-2 model with the settings in {CONFIG} has"
        )
    return weights
