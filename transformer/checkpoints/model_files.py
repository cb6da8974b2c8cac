"""Writes, seals and checks the files of a model folder, of a translator or of a language model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from transformer.checkpoints.model_texts import RESTORE, STEP_WEIGHTS, files_of_model, read_bytes, reading
from transformer.errors import CheckpointError
from transformer.files.memory import check_memory, memory_available, memory_needed
from transformer.files.replacing import replaced, writing
from transformer.files.tensors import bytes_of, opened, read_sealed, read_tensors, write_tensors

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
# safetensors' names of the types that weights may have.
FLOATING = frozenset({"F16", "BF16", "F32"})
# Former names of the parts of a language model; they are from the time when it was a separate class.
FORMER_PARTS = {
    "embedding": "target_embedding",
    "positions": "target_positions",
    "layers": "decoder_layers",
    "norm": "decoder_norm",
}
# Compressed attention once kept its convolutions beside the self-attention.
FORMER_COMPRESSION = re.compile(r"^(decoder_layers\.\d+)\.compression\.")


class Config(Protocol):
    """The shape of a model, as it is written to config.json."""

    def to_json(self) -> str: ...


class VocabularyFiles(Protocol):
    """The files of a vocabulary and their fingerprint; see `transformer.text.vocabulary.TextVocabulary`."""

    files: Mapping[str, bytes]

    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True, eq=False)
class SealedWeights:
    """The weights of a model folder; their seal shows that they were saved with its configuration.

    Attributes:
        tensors: weights by name.
        tokenizer: fingerprint of the vocabulary that the model was trained with.
    """

    tensors: Mapping[str, Tensor]
    tokenizer: str | None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(tensor.shape) for name, tensor in self.tensors.items()}


def save_model(
    folder: Path, config: Config, weights: Mapping[str, Tensor], tokenizer: VocabularyFiles, *, exact: bool = False
) -> None:
    """Write a model folder, each file as a whole or not at all. An existing model card is kept.

    Args:
        folder: model folder, created if it is missing.
        config: configuration of the model.
        weights: parameters by name, as `named_parameters` lists them, shared ones once.
        tokenizer: vocabulary of the model; its fingerprint is stored with the weights.
        exact: whether a weight that rounding to float16 would change is stored in float32.

    Raises:
        OSError: a file cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in tokenizer.files.items():
        with replaced(folder / name) as file:
            file.write_bytes(content)
    stored = {name: _stored(weight.detach().cpu(), exact).contiguous() for name, weight in weights.items()}
    seals = {"tokenizer": tokenizer.fingerprint, "contents": _fingerprint(config.to_json(), stored)}
    write_tensors(folder / WEIGHTS, stored, seals)
    # config.json is written last, because a folder that has one counts as a model folder.
    with replaced(folder / CONFIG) as file:
        file.write_text(config.to_json(), encoding="utf-8")


def read_weights(
    folder: Path, config: str, sizes: Mapping[str, tuple[int, ...]], *, vocabulary: str = ""
) -> SealedWeights:
    """Read the weights of a model folder after checking their seals.

    Args:
        folder: model folder.
        config: the text of its config.json.
        sizes: shapes of some parameters that together determine every size of the configuration.
        vocabulary: file name of a vocabulary with only one file. It must match the seal before a third-party library
            parses it.

    Raises:
        CheckpointError: a file is missing, damaged or does not belong to the others, a weight is not finite, or there
            is too little memory.
    """
    # The memory is checked before the file is mapped, because even mapping a large file may fail.
    check_memory(folder, memory_needed(folder / WEIGHTS), memory_available())
    with reading(folder / WEIGHTS), opened(folder / WEIGHTS) as file:
        metadata = file.metadata() or {}
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        found = {current_name(name): tuple(part.get_shape()) for name, part in slices.items()}
        floating = all(part.get_dtype() in FLOATING for part in slices.values())
    if vocabulary:
        _check_vocabulary(folder / vocabulary, metadata)
    _check_shapes(sizes, found, folder)
    with reading(folder / WEIGHTS):
        weights, _ = read_tensors(folder / WEIGHTS)
    # The seal covers the JSON as `to_json` writes it, so that white space that was changed later does not matter.
    sealed = json.dumps(json.loads(config), indent=2) + "\n"
    if metadata.get("contents") != _fingerprint(sealed, weights):
        raise CheckpointError(f"The weights or {CONFIG} in {folder} were altered after they were saved. {RESTORE}")
    _check_finite(weights if floating else None, folder)
    named = {current_name(name): tensor for name, tensor in weights.items()}
    return SealedWeights(named, metadata.get("tokenizer"))


def read_step(path: Path, advice: str) -> dict[str, Tensor]:
    """The weights of one step of a training run.

    Args:
        advice: argument of `read_sealed`.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: it is damaged, or has the weights of another step than its name says.
    """
    found = read_sealed(path, {"step"}, advice)
    name = STEP_WEIGHTS.fullmatch(path.name)
    if name is None or found.notes != {"step": int(name[1])}:
        step = int(name[1]) if name else "any"
        raise ValueError(f"the file {path} does not contain the weights of step {step}: {advice}")
    return {current_name(name): tensor for name, tensor in found.tensors.items()}


def read_step_weights(path: Path, vocabulary: str) -> SealedWeights:
    """The weights of one step, for the configuration and the vocabulary of its run's model folder.

    Raises:
        CheckpointError: as `read_weights`.
    """
    folder = files_of_model(path)
    check_memory(folder, memory_needed(path), memory_available())
    check_vocabulary(folder / vocabulary)
    try:
        tensors = read_step(path, RESTORE)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"The weights cannot be read: {error}") from error
    _check_finite(tensors, path)
    return SealedWeights(tensors, hashlib.sha256(read_bytes(folder / vocabulary)).hexdigest())


def check_vocabulary(path: Path) -> None:
    """Check that a vocabulary belongs to the weights beside it, before a third-party library parses it.

    Raises:
        CheckpointError: the vocabulary does not belong to the weights, or a file is missing or damaged.
    """
    with reading(path.parent / WEIGHTS), opened(path.parent / WEIGHTS) as file:
        metadata = file.metadata() or {}
    _check_vocabulary(path, metadata)


def folder_version(folder: Path, tokenizer: VocabularyFiles, weights: Sequence[str] = (WEIGHTS,)) -> str:
    """A digest that changes whenever the configuration, a file of the vocabulary or a weight in a model folder does.

    Args:
        folder: model folder.
        tokenizer: vocabulary of the model.
        weights: names of the files that contain the weights.

    Raises:
        CheckpointError: a file is missing or cannot be read.
    """
    digest = hashlib.sha256()
    for name in (CONFIG, *tokenizer.files, *weights):
        with reading(folder / name):
            digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]


def current_name(name: str) -> str:
    """The current name of a parameter whose name may come from an older file."""
    part, dot, rest = name.partition(".")
    return FORMER_COMPRESSION.sub(r"\1.self_attention.compression.", FORMER_PARTS.get(part, part) + dot + rest)


def _stored(weight: Tensor, exact: bool) -> Tensor:
    """Convert a weight to float16, or with `exact` to float32 if float16 would change it."""
    half = weight.half()
    return weight.float() if exact and not torch.equal(half.float(), weight.float()) else half


def fill(model: nn.Module, weights: SealedWeights, folder: Path) -> None:
    """Copy the weights of a folder into its model, and prepare the model for inference.

    Raises:
        CheckpointError: a weight is missing or unknown, or has another shape.
    """
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    _check_shapes(expected, weights.shapes, folder, complete=True)
    copy_weights(weights.tensors, model)
    model.eval().requires_grad_(False)


def copy_weights(weights: Mapping[str, Tensor], model: nn.Module) -> None:
    """Copy weights into a model; there must be one for each parameter, with its name and shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def _check_shapes(
    expected: Mapping[str, tuple[int, ...]],
    found: Mapping[str, tuple[int, ...]],
    folder: Path,
    *,
    complete: bool = False,
) -> None:
    """Check that weights have the shapes that the configuration requires.

    Args:
        expected: shapes that the configuration requires, by name.
        found: shapes in the file, by name.
        folder: model folder, for the message.
        complete: whether the file must not have other weights.

    Raises:
        CheckpointError: a weight is missing or unknown, or has another shape.
    """
    names = {*expected, *found} if complete else {*expected}
    wrong = sorted(name for name in names if expected.get(name) != found.get(name))
    if wrong:
        raise CheckpointError(
            f"The weights in {folder} do not fit {CONFIG}: {wrong[0]} should be {expected.get(wrong[0], 'absent')}, "
            f"but is {found.get(wrong[0], 'absent')}. {RESTORE}"
        )


def _check_finite(weights: Mapping[str, Tensor] | None, path: Path) -> None:
    """Reject weights with a number that is not finite; None stands for weights of another type."""
    if weights is None or not all(bool(weight.isfinite().all()) for weight in weights.values()):
        raise CheckpointError(
            f"The weights in {path} are not all finite numbers: their training diverged. Train again with a lower "
            "learning rate, or use an earlier checkpoint."
        )


def _check_vocabulary(path: Path, metadata: Mapping[str, str]) -> None:
    """Raise a CheckpointError unless a vocabulary matches the seal in the metadata of the weights."""
    if hashlib.sha256(read_bytes(path)).hexdigest() != metadata.get("tokenizer"):
        raise CheckpointError(
            f"The vocabulary {path} is not the one that the weights beside it were trained with. {RESTORE}"
        )


def _fingerprint(config: str, weights: Mapping[str, Tensor]) -> str:
    """SHA-256 of a configuration in JSON and of the weights that were made for it, in hexadecimal."""
    digest = hashlib.sha256(config.encode())
    for name, weight in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(bytes_of(weight))
    return digest.hexdigest()
