"""A model folder: configuration, weights, vocabulary, model card and learning curve, which belong together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.errors import CheckpointError
from transformer.model import Transformer, pack_weights
from transformer.tokenizer import Tokenizer

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
VOCABULARY = "tokenizer.model"
CARD = "README.md"
CURVE = "learning_curve.csv"
RESTORE = "Fetch the model folder again, or make one with `python -m transformer.training`."


@dataclass(frozen=True)
class Checkpoint:
    """What a model folder holds.

    Attributes:
        model: on the CPU, in float32, in evaluation mode.
        tokenizer: the one it was trained with.
        card: the model card, Markdown; empty if the folder has none.
        curve: how it learned, a CSV of `transformer.training.curve.FIELDS`; empty if the folder has none.
    """

    model: Transformer
    tokenizer: Tokenizer
    card: str = ""
    curve: str = ""

    def model_on(self, device: str | torch.device) -> Transformer:
        """The model, moved to a device for good and made ready to be run there, not to be trained."""
        model = self.model.to(device)
        if torch.device(device).type == "cpu":
            pack_weights(model)
        return model


def save_checkpoint(
    folder: Path, config: TransformerConfig, weights: Mapping[str, Tensor], tokenizer: Tokenizer
) -> None:
    """Write a model folder; the weights are rounded to float16. A card that is there stays.

    Args:
        folder: made if it is not there.
        config: of the model.
        weights: its parameters by name, as `named_parameters` lists them, shared ones once.
        tokenizer: its vocabulary; the weights remember which one it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(config.to_json(), encoding="utf-8")
    (folder / VOCABULARY).write_bytes(tokenizer.serialized)
    halves = {name: weight.detach().to("cpu", torch.float16).contiguous() for name, weight in weights.items()}
    seals = {"tokenizer": tokenizer.fingerprint, "contents": _fingerprint(config, halves)}
    write_tensors(folder / WEIGHTS, halves, seals)


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write a safetensors file so that an interruption leaves either the old file or the new one."""
    unfinished = path.with_suffix(".unfinished")
    save_file(tensors, unfinished, metadata)
    os.replace(unfinished, path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file.

    Raises:
        CheckpointError: there is no such file, or it is no whole safetensors file.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError:
        raise CheckpointError(f"The file {path} is missing. {RESTORE}") from None
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"The file {path} is damaged ({error}). {RESTORE}") from error


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a model folder.

    Raises:
        CheckpointError: a file is missing or damaged, or the files do not belong together.
    """
    try:
        config = TransformerConfig.from_json((folder / CONFIG).read_text(encoding="utf-8"))
        tokenizer = Tokenizer.load(folder / VOCABULARY)
    except FileNotFoundError as error:
        raise CheckpointError(f"The file {error.filename} is missing. {RESTORE}") from None
    except (ValueError, OSError) as error:
        raise CheckpointError(f"The model folder {folder} cannot be read: {error}. {RESTORE}") from error
    weights, metadata = read_tensors(folder / WEIGHTS)
    if metadata.get("tokenizer") != tokenizer.fingerprint or config.target_vocabulary != tokenizer.size:
        raise CheckpointError(
            f"The vocabulary {folder / VOCABULARY} is not the one that the weights beside it were trained with. "
            + RESTORE
        )
    model = Transformer(config)
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    found = {name: tuple(weight.shape) for name, weight in weights.items()}
    if expected != found:
        name = min(set(expected.items()) ^ set(found.items()))[0]
        raise CheckpointError(
            f"The weights in {folder} do not fit {CONFIG}: {name} should be {expected.get(name, 'absent')} "
            f"and is {found.get(name, 'absent')}. {RESTORE}"
        )
    if metadata.get("contents") != _fingerprint(config, weights):
        raise CheckpointError(f"The weights or {CONFIG} in {folder} were altered after they were saved. {RESTORE}")
    copy_weights(weights, model)
    return Checkpoint(
        model.eval().requires_grad_(False), tokenizer, card=_text(folder / CARD), curve=_text(folder / CURVE)
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _fingerprint(config: TransformerConfig, weights: Mapping[str, Tensor]) -> str:
    """SHA-256 of a configuration and the weights made for it, hexadecimal."""
    digest = hashlib.sha256(config.to_json().encode())
    for name, weight in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(weight.contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def copy_weights(weights: Mapping[str, Tensor], model: Transformer) -> None:
    """Give the model the parameters `weights`, which has one of each name and shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])

