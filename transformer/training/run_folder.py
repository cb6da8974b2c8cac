"""The folder of a training run: its data, what it continues from, and its last weights."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from transformer.errors import CheckpointError
from transformer.model_files import CURVE, read_tensors, write_tensors
from transformer.tokenizer import VOCABULARY, Tokenizer
from transformer.training.contexts import CONTEXTS, Contexts
from transformer.training.data import PieceData

STATE = "state.safetensors"
MODEL = "model"
DataName = Literal["train", "validation"]


@dataclass(frozen=True)
class State:
    """What a run continues from.

    Attributes:
        tensors: weights and what the optimiser remembers, by name.
        progress: step, seconds and configuration.
    """

    tensors: Mapping[str, Tensor]
    progress: Mapping[str, Any]


class RunFolder:
    """The files of one run.

    `prepare` writes tokenizer.model, train.npz and validation.npz; `train` adds state.safetensors, the last few
    weights-STEP.safetensors, and model/, the model so far with its learning curve.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def model(self) -> Path:
        """The folder of the model that the run leaves."""
        return self.path / MODEL

    @property
    def curve(self) -> Path:
        """The model's learning curve."""
        return self.model / CURVE

    def tokenizer(self) -> Tokenizer:
        """The run's vocabulary.

        Raises:
            ValueError: the folder was not prepared, or the file is damaged.
        """
        try:
            return Tokenizer.load(self.path / VOCABULARY)
        except FileNotFoundError:
            raise ValueError(
                f"there is no prepared run in {self.path}: call `prepare --run {self.path}` first"
            ) from None

    def save_tokenizer(self, tokenizer: Tokenizer) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / VOCABULARY).write_bytes(tokenizer.serialized)

    def data(self, name: DataName, tokenizer: Tokenizer) -> PieceData | Contexts:
        """What to train or to validate on, in the pieces of the run's vocabulary: pairs for a translation model, or
        contexts for a language model.

        Raises:
            ValueError: the file is missing or damaged, or was prepared with another vocabulary.
        """
        path = self._data_path(name)
        again = f"call `prepare --run {self.path}` again"
        try:
            data, fingerprint = read_data(path)
        except FileNotFoundError:
            raise ValueError(f"there is no file {path}: {again}") from None
        except (ValueError, KeyError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise ValueError(f"the file {path} is damaged ({error}): {again}") from error
        if fingerprint != tokenizer.fingerprint:
            raise ValueError(f"{path} was prepared with another vocabulary than {self.path / VOCABULARY}: {again}")
        return data

    def save_data(self, name: DataName, data: PieceData | Contexts, tokenizer: Tokenizer) -> None:
        data.save(self._data_path(name), tokenizer.fingerprint)

    def state(self) -> State | None:
        """What the run continues from; None at its beginning.

        Raises:
            ValueError: the file is damaged.
        """
        path = self.path / STATE
        if not path.exists():
            return None
        advice = f"delete it to begin again, or put a copy of {self.path} back"
        try:
            tensors, metadata = read_tensors(path)
            progress = json.loads(metadata["progress"])
            digest = metadata["digest"]
        except (CheckpointError, KeyError, ValueError) as error:
            raise ValueError(f"the file {path}, which this run continues from, is damaged: {advice}") from error
        if digest != _digest(tensors, metadata["progress"]):
            raise ValueError(f"the file {path}, which this run continues from, was altered or damaged: {advice}")
        return State(tensors, progress)

    def save_state(self, state: State) -> None:
        """Replace what the run continues from.

        Raises:
            OSError: there is no room for it; the old one stays.
        """
        progress = json.dumps(dict(state.progress))
        metadata = {"progress": progress, "digest": _digest(state.tensors, progress)}
        self._write(self.path / STATE, dict(state.tensors), metadata)

    def save_weights(self, step: int, weights: Mapping[str, Tensor], *, keep: int) -> None:
        """Add the weights of a step; of all that there are only the last `keep` stay."""
        self._write(self.path / f"weights-{step:07d}.safetensors", dict(weights), {})
        for old in self._weights_paths()[:-keep]:
            old.unlink()

    def last_weights(self) -> list[dict[str, Tensor]]:
        """The weights that were kept, the oldest first."""
        return [read_tensors(path)[0] for path in self._weights_paths()]

    def forget_weights_after(self, step: int) -> None:
        """Drop what an interrupted run saved after the step it continues from: it takes those steps again."""
        for path in self._weights_paths():
            if int(path.stem.removeprefix("weights-")) > step:
                path.unlink()

    def _data_path(self, name: DataName) -> Path:
        return self.path / f"{name}.npz"

    def _weights_paths(self) -> list[Path]:
        return sorted(self.path.glob("weights-*.safetensors"))

    def _write(self, path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
        try:
            write_tensors(path, tensors, metadata)
        except (SafetensorError, OSError) as error:
            path.with_suffix(".unfinished").unlink(missing_ok=True)
            raise OSError(
                f"{path} could not be written ({error}). The run can be continued from its last checkpoint as soon as "
                "there is room"
            ) from error


def read_data(path: Path) -> tuple[PieceData | Contexts, str]:
    """Prepared data, and the fingerprint of its vocabulary."""
    # Opened here: numpy leaves a file that it cannot read open.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        kind = Contexts if CONTEXTS in arrays else PieceData
        return kind.of_arrays(arrays), str(arrays["fingerprint"])


def _digest(tensors: Mapping[str, Tensor], progress: str) -> str:
    """SHA-256 of a state, hexadecimal."""
    digest = hashlib.sha256(progress.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
