"""Implements the `export` command, which converts a model folder to a Hugging Face Marian folder."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from transformer.checkpoints.checkpoint import Checkpoint, load_checkpoint
from transformer.checkpoints.huggingface_files import WEIGHTS
from transformer.checkpoints.huggingface_settings import CONFIG, GENERATION
from transformer.checkpoints.model_texts import CARD
from transformer.config import RELATIVE
from transformer.errors import CheckpointError
from transformer.files.atomic_writes import atomic_folder, write_errors_explained
from transformer.interop.generation import applied_elsewhere, generation_settings
from transformer.interop.weights import (
    ATTENTION,
    ATTENTION_PARTS,
    DECODER_EMBEDDING,
    ENCODER_EMBEDDING,
    LINEAR,
    NORMS,
    OUTPUT,
    OUTPUT_BIAS,
    POSITIONS,
    SHARED,
)
from transformer.text.added_tokens import TOKENIZER
from transformer.text.pair_tokenizer import IDS, SOURCE, SYMBOLS, TARGET, TARGET_IDS
from transformer.text.tokenizer import VOCABULARY

HUGGINGFACE_ACTIVATIONS = {"silu": "swish", "relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new"}


def export_huggingface(model: Path, output: Path) -> None:
    """Convert a model folder to a folder that `MarianMTModel` and `MarianTokenizer` in transformers can read.

    The exported model computes the same logits and attention weights. Marian's tokenizer does not normalise text. For a
    vocabulary trained by this project, token ids therefore agree only on text that is already normalised
    (`transformer.text.normalisation`).

    Args:
        model: model folder in this project's format.
        output: folder to write; a folder that exists must be empty.

    Raises:
        AtlasError: the model cannot be read or has a feature that Marian does not support, or the output folder is not
            empty.
    """
    with atomic_folder(output) as unfinished:
        checkpoint = load_checkpoint(model)
        config = checkpoint.model.config
        if config.positions in RELATIVE:
            raise CheckpointError(
                f"The model in {model} has {config.positions} positions, but Hugging Face's Marian supports only "
                "positions that are added to the embeddings: this model cannot be exported."
            )
        if config.embedding_norm:
            raise CheckpointError(
                f"The model in {model} normalises its embeddings, but Hugging Face's Marian does not: this "
                "model cannot be exported."
            )
        if config.norm == "pre":
            raise CheckpointError(
                f"The model in {model} normalises before each sub-layer (pre-norm), but Hugging Face's Marian "
                "normalises only after it (post-norm): this model cannot be exported."
            )
        with write_errors_explained(output):
            for name, document in _settings(checkpoint).items():
                (unfinished / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
            for name, content in _vocabulary(checkpoint).items():
                (unfinished / name).write_bytes(content)
            save_file(_weights(checkpoint), unfinished / WEIGHTS, {"format": "pt"})
            if checkpoint.card:
                (unfinished / CARD).write_text(checkpoint.card, encoding="utf-8")


def _settings(checkpoint: Checkpoint) -> dict[str, dict[str, object]]:
    config, symbols = checkpoint.model.config, checkpoint.tokenizer.symbols
    ids = {
        "pad_token_id": symbols.pad,
        "eos_token_id": symbols.end,
        "decoder_start_token_id": symbols.start,
        "bos_token_id": symbols.start,
    }
    source, target = checkpoint.languages
    return {
        CONFIG: {
            "architectures": ["MarianMTModel"],
            "model_type": "marian",
            "dtype": "float32",
            "vocab_size": config.source_vocabulary,
            "decoder_vocab_size": config.target_vocabulary,
            "d_model": config.d_model,
            "encoder_layers": config.encoder_layers,
            "decoder_layers": config.decoder_layers,
            "encoder_attention_heads": config.heads,
            "decoder_attention_heads": config.heads,
            "encoder_ffn_dim": config.d_ff,
            "decoder_ffn_dim": config.d_ff,
            "activation_function": HUGGINGFACE_ACTIVATIONS[config.activation],
            "dropout": config.dropout,
            "max_position_embeddings": config.max_positions,
            "scale_embedding": config.scale_embedding,
            "share_encoder_decoder_embeddings": config.tied_embeddings == "all",
            "tie_word_embeddings": config.tied_embeddings != "none",
            "forced_eos_token_id": None,
            **ids,
        },
        GENERATION: {
            **ids,
            "num_beams": 1,
            **generation_settings(config.generation, symbols, config.max_positions),
            **applied_elsewhere(config.unapplied, end=symbols.end),
        },
        TOKENIZER: {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": source.code,
            "target_lang": target.code,
            "separate_vocabs": TARGET_IDS in checkpoint.tokenizer.files,
            "model_max_length": config.max_positions,
        },
    }


def _vocabulary(checkpoint: Checkpoint) -> dict[str, bytes]:
    tokenizer = checkpoint.tokenizer
    if VOCABULARY not in tokenizer.files:
        return {name: content for name, content in tokenizer.files.items() if name != SYMBOLS}
    ids = {text: number for number, text in enumerate(tokenizer.texts)}
    model = tokenizer.files[VOCABULARY]
    return {SOURCE: model, TARGET: model, IDS: json.dumps(ids, ensure_ascii=False).encode("utf-8")}


def _weights(checkpoint: Checkpoint) -> dict[str, Tensor]:
    model, config = checkpoint.model, checkpoint.model.config
    parameters: dict[str, Tensor] = dict(model.named_parameters(remove_duplicate=False))
    theirs: dict[str, Tensor]
    if config.tied_embeddings == "all":
        theirs = {SHARED: parameters["target_embedding.weight"]}
    else:
        theirs = {
            ENCODER_EMBEDDING: parameters["source_embedding.weight"],
            DECODER_EMBEDDING: parameters["target_embedding.weight"],
        }
        if config.tied_embeddings == "none":
            theirs[OUTPUT] = parameters["generator.weight"]
    bias = model.generator.bias
    theirs[OUTPUT_BIAS] = torch.zeros(1, config.target_vocabulary) if bias is None else bias[None]
    if config.positions != "sinusoidal_halves":
        # Hugging Face's Marian computes only "sinusoidal_halves" positions; other positions must be stored in the file.
        for side, encoding in (("encoder", model.source_positions), ("decoder", model.target_positions)):
            added = torch.zeros(1, config.max_positions, config.d_model)
            theirs[POSITIONS[side]] = encoding(added)[0]
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(layers):
            place, ours_here = f"model.{stack}.layers.{layer}", f"{stack}_layers.{layer}"
            for kind in ("weight", "bias"):
                for part in ATTENTION_PARTS[stack]:
                    attention = f"{place}.{ATTENTION[part]}"
                    projections = parameters[f"{ours_here}.{part}.in_projection.{kind}"].chunk(3)
                    for name, projection in zip("qkv", projections, strict=True):
                        theirs[f"{attention}.{name}_proj.{kind}"] = projection
                    theirs[f"{attention}.out_proj.{kind}"] = parameters[f"{ours_here}.{part}.out_projection.{kind}"]
                for name, their in LINEAR.items():
                    theirs[f"{place}.{their}.{kind}"] = parameters[f"{ours_here}.{name}.{kind}"]
                for name, their in NORMS.items():
                    if f"{ours_here}.{name}.{kind}" in parameters:
                        theirs[f"{place}.{their}.{kind}"] = parameters[f"{ours_here}.{name}.{kind}"]
    return {name: weight.detach().contiguous().clone() for name, weight in theirs.items()}
