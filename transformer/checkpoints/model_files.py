"""Writes model folders with checksums, and reads and verifies their weights."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from transformer.checkpoints.memory import check_memory, memory_available, memory_needed
from transformer.checkpoints.model_texts import (
    REPAIR_ADVICE,
    STEP_WEIGHTS,
    files_of_model,
    read_bytes,
    reading_errors_explained,
)
from transformer.errors import CheckpointError
from transformer.files.atomic_writes import atomic_file, write_errors_explained
from transformer.files.tensors import bytes_of, open_tensors, read_sealed, read_tensors, write_tensors

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
# Allowed data types for weights, by their safetensors names.
FLOAT_TYPES = frozenset({"F16", "BF16", "F32"})
# Module names in old language-model files, mapped to the current names. The old names come from a former
# class for language models.
OLD_MODULE_NAMES = {
    "embedding": "target_embedding",
    "positions": "target_positions",
    "layers": "decoder_layers",
    "norm": "decoder_norm",
}
# In old files, the convolutions of compressed attention are outside the self-attention module.
OLD_COMPRESSION = re.compile(r"^(decoder_layers\.\d+)\.compression\.")


class Config(Protocol):
    """A model configuration that can be serialised to config.json."""

    def to_json(self) -> str: ...


class VocabularyFiles(Protocol):
    """A vocabulary's files and fingerprint, as in `transformer.text.vocabulary.TextVocabulary`."""

    files: Mapping[str, bytes]

    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True, eq=False)
class SealedWeights:
    """A model's weights, with a verified checksum.

    Attributes:
        tensors: weights by parameter name.
        tokenizer: fingerprint of the vocabulary that the model was trained with; None if the file does not state it.
    """

    tensors: Mapping[str, Tensor]
    tokenizer: str | None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(tensor.shape) for name, tensor in self.tensors.items()}


def save_model(
    folder: Path, config: Config, weights: Mapping[str, Tensor], tokenizer: VocabularyFiles, *, exact: bool = False
) -> None:
    """Write a model folder, replacing each file atomically. An existing model card is kept.

    Args:
        folder: model folder, created if missing.
        config: model configuration.
        weights: parameters by name, as listed by `named_parameters`, with each shared parameter once.
        tokenizer: the model's vocabulary, whose fingerprint is stored with the weights.
        exact: whether to store a tensor in float32 if float16 would change any of its values.

    Raises:
        OSError: a file cannot be written.
    """
    with write_errors_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in tokenizer.files.items():
        with atomic_file(folder / name) as file:
            file.write_bytes(content)
    stored = {name: _stored_tensor(weight.detach().cpu(), exact).contiguous() for name, weight in weights.items()}
    seals = {"tokenizer": tokenizer.fingerprint, "contents": _fingerprint(config.to_json(), stored)}
    write_tensors(folder / WEIGHTS, stored, seals)
    # Write config.json last, because its presence marks a model folder.
    with atomic_file(folder / CONFIG) as file:
        file.write_text(config.to_json(), encoding="utf-8")


def read_weights(
    folder: Path, config: str, sizes: Mapping[str, tuple[int, ...]], *, vocabulary: str = ""
) -> SealedWeights:
    """Read the weights in a model folder, and verify the checksums.

    Args:
        folder: model folder.
        config: contents of config.json.
        sizes: expected shapes of a few parameters that together confirm every size in the configuration.
        vocabulary: name of the vocabulary file, if there is only one. The file's checksum is verified before a
            third-party library parses it. "" skips this check.

    Raises:
        CheckpointError: a file is missing, damaged or inconsistent with another file, a weight is not finite, or memory
            is insufficient.
    """
    # Check memory first, because even memory-mapping a large file can fail.
    check_memory(folder, memory_needed(folder / WEIGHTS), memory_available())
    with reading_errors_explained(folder / WEIGHTS), open_tensors(folder / WEIGHTS) as file:
        metadata = file.metadata() or {}
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        shapes = {current_name(name): tuple(part.get_shape()) for name, part in slices.items()}
        floating = all(part.get_dtype() in FLOAT_TYPES for part in slices.values())
    if vocabulary:
        _check_vocabulary(folder / vocabulary, metadata)
    _check_shapes(sizes, shapes, folder)
    with reading_errors_explained(folder / WEIGHTS):
        weights, _ = read_tensors(folder / WEIGHTS)
    # The checksum covers config.json as formatted by `to_json`, so later changes to its white space do not matter.
    sealed = json.dumps(json.loads(config), indent=2) + "\n"
    if metadata.get("contents") != _fingerprint(sealed, weights):
        raise CheckpointError(
            f"The weights or {CONFIG} in {folder} were altered after they were saved. {REPAIR_ADVICE}"
        )
    _check_finite(weights if floating else None, folder)
    current_weights = {current_name(name): tensor for name, tensor in weights.items()}
    return SealedWeights(current_weights, metadata.get("tokenizer"))


def read_step(path: Path, advice: str) -> dict[str, Tensor]:
    """Read the weights in a training checkpoint.

    Args:
        path: the checkpoint's weights file.
        advice: as in `read_sealed`.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: the file is damaged, is not named like a checkpoint, or contains the weights of another step.
    """
    sealed = read_sealed(path, {"step"}, advice)
    name = STEP_WEIGHTS.fullmatch(path.name)
    if name is None:
        raise ValueError(f"the file {path} must have a name such as weights-0001000.safetensors: {advice}")
    if sealed.notes != {"step": int(name[1])}:
        raise ValueError(f"the file {path} does not contain the weights of step {int(name[1])}: {advice}")
    return {current_name(name): tensor for name, tensor in sealed.tensors.items()}


def read_step_weights(path: Path, vocabulary: str) -> SealedWeights:
    """Read a training checkpoint's weights, after verifying the vocabulary in the run's model folder.

    Args:
        path: the checkpoint's weights file.
        vocabulary: name of the vocabulary file.

    Raises:
        CheckpointError: as in `read_weights`.
    """
    folder = files_of_model(path)
    check_memory(folder, memory_needed(path), memory_available())
    check_vocabulary(folder / vocabulary)
    try:
        tensors = read_step(path, REPAIR_ADVICE)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"The weights cannot be read: {error}") from error
    _check_finite(tensors, path)
    return SealedWeights(tensors, hashlib.sha256(read_bytes(folder / vocabulary)).hexdigest())


def check_vocabulary(path: Path) -> None:
    """Check that a vocabulary file matches the checksum in the weights file beside it.

    Call this before a third-party library parses the vocabulary.

    Raises:
        CheckpointError: the vocabulary does not match the weights, or a file is missing or damaged.
    """
    with reading_errors_explained(path.parent / WEIGHTS), open_tensors(path.parent / WEIGHTS) as file:
        metadata = file.metadata() or {}
    _check_vocabulary(path, metadata)


def folder_version(folder: Path, tokenizer: VocabularyFiles, weights: Sequence[str] = (WEIGHTS,)) -> str:
    """Return a digest of a model folder's configuration, vocabulary files and weights.

    Args:
        folder: model folder.
        tokenizer: the model's vocabulary.
        weights: names of the weight files.

    Raises:
        CheckpointError: a file is missing or cannot be read.
    """
    digest = hashlib.sha256()
    for name in (CONFIG, *tokenizer.files, *weights):
        with reading_errors_explained(folder / name):
            digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]


def current_name(name: str) -> str:
    """Return the current name of a parameter, given its name in a weights file, which may be from an older version."""
    part, dot, rest = name.partition(".")
    return OLD_COMPRESSION.sub(r"\1.self_attention.compression.", OLD_MODULE_NAMES.get(part, part) + dot + rest)


def _stored_tensor(weight: Tensor, exact: bool) -> Tensor:
    """Convert a tensor to float16; with `exact`, to float32 if float16 would change any value."""
    half = weight.half()
    return weight.float() if exact and not torch.equal(half.float(), weight.float()) else half


def load_weights(model: nn.Module, weights: SealedWeights, folder: Path) -> None:
    """Copy weights into a model, and switch the model to evaluation mode without gradients.

    Args:
        model: model to fill.
        weights: weights for all parameters.
        folder: model folder, for error messages.

    Raises:
        CheckpointError: a weight is missing or unknown, or has the wrong shape.
    """
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    _check_shapes(expected, weights.shapes, folder, complete=True)
    copy_weights(weights.tensors, model)
    model.eval().requires_grad_(False)


def copy_weights(weights: Mapping[str, Tensor], model: nn.Module) -> None:
    """Copy each weight into the parameter of the same name, which must have the same shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def _check_shapes(
    expected: Mapping[str, tuple[int, ...]],
    actual: Mapping[str, tuple[int, ...]],
    folder: Path,
    *,
    complete: bool = False,
) -> None:
    """Check that the weights have the shapes required by the configuration.

    Args:
        expected: required shapes, by parameter name.
        actual: shapes in the file, by parameter name.
        folder: model folder, for error messages.
        complete: whether weights not in `expected` are an error.

    Raises:
        CheckpointError: a weight is missing or unknown, or has the wrong shape.
    """
    names = {*expected, *actual} if complete else {*expected}
    wrong = sorted(name for name in names if expected.get(name) != actual.get(name))
    if wrong:
        name = wrong[0]
        fault = f"should have shape {expected.get(name)}, but has {actual.get(name)}"
        if name not in expected or name not in actual:
            fault = "is missing" if name in expected else "is unknown"
        raise CheckpointError(f"The weights in {folder} do not fit {CONFIG}: {name} {fault}. {REPAIR_ADVICE}")


def _check_finite(weights: Mapping[str, Tensor] | None, path: Path) -> None:
    """Raise a CheckpointError if a weight is not finite, or if `weights` is None (unsupported data type)."""
    if weights is None or not all(bool(weight.isfinite().all()) for weight in weights.values()):
        raise CheckpointError(
            f"Some weights in {path} are infinite, NaN or not floating-point numbers. If training diverged, train "
            "again with a lower learning rate, or use an earlier checkpoint."
        )


def _check_vocabulary(path: Path, metadata: Mapping[str, str]) -> None:
    """Raise a CheckpointError unless a vocabulary file matches the checksum in the weights' metadata."""
    if hashlib.sha256(read_bytes(path)).hexdigest() != metadata.get("tokenizer"):
        raise CheckpointError(
            f"The vocabulary {path} is not the one that the weights beside it were trained with. {REPAIR_ADVICE}"
        )


def _fingerprint(config: str, weights: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 digest of a JSON configuration and weights, in hexadecimal."""
    digest = hashlib.sha256(config.encode())
    for name, weight in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(bytes_of(weight))
    return digest.hexdigest()
