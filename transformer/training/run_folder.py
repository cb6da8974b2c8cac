"""The folder of a training run: its data, its saved state, and its last weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from torch import Tensor

from transformer.checkpoints.model_files import current_name, read_step
from transformer.checkpoints.model_texts import CURVE, RUN_MODEL, STEP_WEIGHTS
from transformer.files.replacing import replaced, writing
from transformer.files.tensors import read_sealed, seal_of, write_sealed
from transformer.text.tokenizer import VOCABULARY, Tokenizer
from transformer.training.contexts import CONTEXTS, Contexts
from transformer.training.data import PieceData

STATE = "state.safetensors"
# The metadata of a state.
PROGRESS = ("step", "seconds", "config", "fingerprints")
DataName = Literal["train", "validation"]


@dataclass(frozen=True)
class TrainingState:
    """The state from which a run continues.

    Attributes:
        tensors: weights and the optimiser's state, by name.
        progress: PROGRESS by name: step, seconds, configuration, and `RunFolder.fingerprints`.
    """

    tensors: Mapping[str, Tensor]
    progress: Mapping[str, Any]


class RunFolder:
    """The files of one run.

    `prepare` writes tokenizer.model, train.safetensors and validation.safetensors. `train` adds state.safetensors and
    the last few weights-STEP.safetensors. It also writes model/, the current model with its learning curve.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def model(self) -> Path:
        """The folder of the run's model."""
        return self.path / RUN_MODEL

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
                f"there is no prepared run in {self.path}: run `prepare --run {self.path}` first"
            ) from None
        except ValueError as error:
            raise ValueError(f"{error}: run `prepare --run {self.path}` again, or restore a copy") from error

    def save_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Create the folder with its vocabulary.

        Raises:
            OSError: it cannot be written.
        """
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with replaced(self.path / VOCABULARY) as file:
            file.write_bytes(tokenizer.serialized)

    def data(self, name: DataName, tokenizer: Tokenizer) -> PieceData | Contexts:
        """The training or validation data, in tokens of the run's vocabulary.

        The data is pairs for a translation model, or contexts for a language model.

        Raises:
            ValueError: the file is missing or damaged, or was prepared with another vocabulary.
        """
        path = self._data_path(name)
        again = f"run `prepare --run {self.path}` again"
        try:
            data, fingerprint = read_data(path, again)
        except FileNotFoundError:
            raise ValueError(f"there is no file {path}: {again}") from None
        if fingerprint != tokenizer.fingerprint:
            raise ValueError(f"{path} was prepared with another vocabulary than {self.path / VOCABULARY}: {again}")
        return data

    def save_data(self, name: DataName, data: PieceData | Contexts, tokenizer: Tokenizer) -> None:
        data.save(self._data_path(name), tokenizer.fingerprint)

    def fingerprints(self, tokenizer: Tokenizer) -> dict[str, str]:
        """Fingerprints of the vocabulary and data files, by file name.

        Args:
            tokenizer: the run's tokenizer; its data has already been read and was complete.
        """
        paths = [self._data_path(name) for name in get_args(DataName)]
        return {VOCABULARY: tokenizer.fingerprint, **{path.name: seal_of(path) for path in paths}}

    def state(self) -> TrainingState | None:
        """The saved state of the run; None at its beginning.

        Raises:
            ValueError: the file is damaged.
        """
        try:
            found = read_sealed(
                self.path / STATE, PROGRESS, f"delete it to start again, or put a copy of {self.path} back"
            )
        except FileNotFoundError:
            return None
        return TrainingState({_current(name): tensor for name, tensor in found.tensors.items()}, found.notes)

    def save_state(self, state: TrainingState) -> None:
        """Replace the saved state.

        Raises:
            OSError: it cannot be written; the old one stays.
        """
        write_sealed(self.path / STATE, state.tensors, state.progress)

    def save_weights(self, step: int, weights: Mapping[str, Tensor], *, keep: int) -> None:
        """Add the weights of a step, and keep only the last `keep`.

        Raises:
            OSError: they cannot be written.
        """
        write_sealed(self._weights_path(step), weights, {"step": step})
        for old in self._weights_steps()[:-keep]:
            self._weights_path(old).unlink()

    def last_weights(self) -> list[dict[str, Tensor]]:
        """The weights that were kept, oldest first.

        Raises:
            ValueError: a file is damaged, or holds the weights of another step than its name says.
        """
        return [self._read_weights(step) for step in self._weights_steps()]

    def check_weights(self, step: int, weights: Mapping[str, Tensor]) -> None:
        """Check that the kept weights can be averaged, before the run takes hours for more steps.

        Args:
            step: the step that the run continues from. Weights of later steps, which an interrupted run saved, are
                deleted, because the run takes those steps again.
            weights: weights of that step, empty at the beginning. If their own file is missing, it is written again.

        Raises:
            ValueError: a file is damaged; the files are read one at a time.
        """
        for kept in self._weights_steps():
            if kept > step:
                self._weights_path(kept).unlink()
            else:
                self._read_weights(kept)
        if weights and step not in self._weights_steps():
            write_sealed(self._weights_path(step), weights, {"step": step})

    def _data_path(self, name: DataName) -> Path:
        return self.path / f"{name}.safetensors"

    def _weights_path(self, step: int) -> Path:
        return self.path / f"weights-{step:07d}.safetensors"

    def _weights_steps(self) -> list[int]:
        """The steps of the files that `save_weights` wrote; other files of the user are ignored."""
        return sorted(int(found[1]) for path in self.path.iterdir() if (found := STEP_WEIGHTS.fullmatch(path.name)))

    def _read_weights(self, step: int) -> dict[str, Tensor]:
        return read_step(self._weights_path(step), "delete it, and the model is averaged without it")


def _current(name: str) -> str:
    """The current name of a tensor of a state, "weights.NAME" or "optimizer.NAME"."""
    part, _, rest = name.partition(".")
    return f"{part}.{current_name(rest)}" if part == "weights" else name


def read_data(path: Path, advice: str) -> tuple[PieceData | Contexts, str]:
    """Prepared data, and the fingerprint of its vocabulary.

    Args:
        advice: argument of `read_sealed`, whose errors are raised.
    """
    found = read_sealed(path, {"vocabulary"}, advice)
    # Copied, because mapped data would be read from the file again at every epoch, without checking the seal.
    arrays = {name: tensor.numpy().copy() for name, tensor in found.tensors.items()}
    kind = Contexts if CONTEXTS in arrays else PieceData
    return kind.of_arrays(arrays), found.notes["vocabulary"]
