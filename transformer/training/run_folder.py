"""A training run's folder: prepared data, the state to resume from, and the latest checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from torch import Tensor

from transformer.checkpoints.model_files import current_name, read_step
from transformer.checkpoints.model_texts import CURVE, RUN_MODEL, STEP_WEIGHTS
from transformer.files.atomic_writes import atomic_file, write_errors_explained
from transformer.files.tensors import read_sealed, seal_of, write_sealed
from transformer.text.tokenizer import VOCABULARY, Tokenizer
from transformer.training.contexts import CONTEXTS, Contexts
from transformer.training.data import TokenData

STATE = "state.safetensors"
# Metadata keys in the state file.
PROGRESS = ("step", "seconds", "config", "fingerprints")
DataName = Literal["train", "validation"]


@dataclass(frozen=True)
class TrainingState:
    """State from which a training run can be resumed.

    Attributes:
        tensors: weights and optimiser state, by name.
        progress: the step, the seconds trained, the configuration, and the fingerprints of the vocabulary and the data;
            the keys are those in PROGRESS.
    """

    tensors: Mapping[str, Tensor]
    progress: Mapping[str, Any]


class RunFolder:
    """The files of one training run.

    `prepare` writes tokenizer.model, train.safetensors and validation.safetensors. `train` writes state.safetensors,
    the last few checkpoints (weights-STEP.safetensors), and the folder model/, which contains the current model and
    the learning curve.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def model(self) -> Path:
        return self.path / RUN_MODEL

    @property
    def curve(self) -> Path:
        return self.model / CURVE

    def tokenizer(self) -> Tokenizer:
        """Load the training run's tokenizer.

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
        """Create the run folder, and write the tokenizer to it.

        Raises:
            OSError: the folder cannot be created or written to.
        """
        with write_errors_explained(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.path / VOCABULARY) as file:
            file.write_bytes(tokenizer.serialized)

    def data(self, name: DataName, tokenizer: Tokenizer) -> TokenData | Contexts:
        """Load the training or validation data: sentence pairs for a translation model, contexts for a language model.

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
            raise ValueError(f"{path} was prepared with a vocabulary other than {self.path / VOCABULARY}: {again}")
        return data

    def save_data(self, name: DataName, data: TokenData | Contexts, tokenizer: Tokenizer) -> None:
        data.save(self._data_path(name), tokenizer.fingerprint)

    def fingerprints(self, tokenizer: Tokenizer) -> dict[str, str]:
        """Return the fingerprints of the tokenizer file and the data files, by file name.

        Load the data first, because this method does not verify the data files' checksums.

        Args:
            tokenizer: the run's tokenizer.
        """
        paths = [self._data_path(name) for name in get_args(DataName)]
        return {VOCABULARY: tokenizer.fingerprint, **{path.name: seal_of(path) for path in paths}}

    def state(self) -> TrainingState | None:
        """Load the saved state; return None if there is none.

        Raises:
            ValueError: the file is damaged.
        """
        try:
            sealed = read_sealed(
                self.path / STATE, PROGRESS, f"delete it to start again, or restore a copy of {self.path}"
            )
        except FileNotFoundError:
            return None
        return TrainingState({_current(name): tensor for name, tensor in sealed.tensors.items()}, sealed.notes)

    def save_state(self, state: TrainingState) -> None:
        """Save the state, replacing any earlier one.

        Raises:
            OSError: the state cannot be written; the old state is kept.
        """
        write_sealed(self.path / STATE, state.tensors, state.progress)

    def save_weights(self, step: int, weights: Mapping[str, Tensor], *, keep: int) -> None:
        """Save the weights after a step as a checkpoint, and delete all but the last `keep` checkpoints.

        Raises:
            OSError: the weights cannot be written.
        """
        write_sealed(self._weights_path(step), weights, {"step": step})
        for old in self._weights_steps()[:-keep]:
            self._weights_path(old).unlink()

    def last_weights(self) -> list[dict[str, Tensor]]:
        """Load the weights of all checkpoints, oldest first.

        Raises:
            ValueError: a file is damaged, or contains weights from a step other than the one in its name.
        """
        return [self._read_weights(step) for step in self._weights_steps()]

    def check_weights(self, step: int, weights: Mapping[str, Tensor]) -> None:
        """Check that the checkpoints to average can be read, before hours are spent on further training steps.

        Args:
            step: step from which training continues. Checkpoints of later steps, left by an interrupted run, are
                deleted, because these steps are taken again.
            weights: weights after `step`; empty for a new run. If that step has no checkpoint, one is written.

        Raises:
            ValueError: a checkpoint file is damaged.
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
        """Return the steps of all checkpoints, ascending. Files that `save_weights` did not write are ignored."""
        return sorted(int(match[1]) for path in self.path.iterdir() if (match := STEP_WEIGHTS.fullmatch(path.name)))

    def _read_weights(self, step: int) -> dict[str, Tensor]:
        return read_step(self._weights_path(step), "delete it, so that the model is averaged without it")


def _current(name: str) -> str:
    """Convert a tensor name in an older training state to the current name; only "weights.NAME" can change."""
    part, _, rest = name.partition(".")
    return f"{part}.{current_name(rest)}" if part == "weights" else name


def read_data(path: Path, advice: str) -> tuple[TokenData | Contexts, str]:
    """Load a file of prepared data; return the data and the fingerprint of the vocabulary used.

    Args:
        path: data file.
        advice: what the user can do about an unusable file; appended to error messages (see `read_sealed`).
    """
    sealed = read_sealed(path, {"vocabulary"}, advice)
    # Copy the arrays, because memory-mapped data would be read again in every epoch without verifying the checksum.
    arrays = {name: tensor.numpy().copy() for name, tensor in sealed.tensors.items()}
    kind = Contexts if CONTEXTS in arrays else TokenData
    return kind.of_arrays(arrays), sealed.notes["vocabulary"]
