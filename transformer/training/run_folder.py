"""The folder of a training run: its data, what it continues from, and its last weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from torch import Tensor

from transformer.checkpoints.model_files import current_name
from transformer.checkpoints.model_texts import CURVE
from transformer.files.replacing import replaced, writing
from transformer.files.tensors import read_sealed, seal_of, write_sealed
from transformer.text.tokenizer import VOCABULARY, Tokenizer
from transformer.training.contexts import CONTEXTS, Contexts
from transformer.training.data import PieceData

STATE = "state.safetensors"
MODEL = "model"
# What a state says of its run.
PROGRESS = ("step", "seconds", "config", "fingerprints")
# Its name has the step, in as many digits as it needs, but seven at least.
WEIGHTS = re.compile(r"weights-([0-9]{7}|[1-9][0-9]{7,})\.safetensors")
DataName = Literal["train", "validation"]


@dataclass(frozen=True)
class State:
    """What a run continues from.

    Attributes:
        tensors: weights and what the optimiser remembers, by name.
        progress: PROGRESS by name: step, seconds, configuration, and `RunFolder.fingerprints`.
    """

    tensors: Mapping[str, Tensor]
    progress: Mapping[str, Any]


class RunFolder:
    """The files of one run.

    `prepare` writes tokenizer.model, train.safetensors and validation.safetensors; `train` adds state.safetensors, the
    last few weights-STEP.safetensors, and model/, the model so far with its learning curve.
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
        except ValueError as error:
            raise ValueError(f"{error}: call `prepare --run {self.path}` again, or put a copy back") from error

    def save_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Begin the folder with its vocabulary.

        Raises:
            OSError: it cannot be written.
        """
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with replaced(self.path / VOCABULARY) as file:
            file.write_bytes(tokenizer.serialized)

    def data(self, name: DataName, tokenizer: Tokenizer) -> PieceData | Contexts:
        """What to train or to validate on, in the tokens of the run's vocabulary: pairs for a translation model, or
        contexts for a language model.

        Raises:
            ValueError: the file is missing or damaged, or was prepared with another vocabulary.
        """
        path = self._data_path(name)
        again = f"call `prepare --run {self.path}` again"
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
        """What changes with the vocabulary or the data, of each of their files by its name.

        Args:
            tokenizer: the run's; its data has been read, and was whole.
        """
        paths = [self._data_path(name) for name in get_args(DataName)]
        return {VOCABULARY: tokenizer.fingerprint, **{path.name: seal_of(path) for path in paths}}

    def state(self) -> State | None:
        """What the run continues from; None at its beginning.

        Raises:
            ValueError: the file is damaged.
        """
        try:
            found = read_sealed(
                self.path / STATE, PROGRESS, f"delete it to begin again, or put a copy of {self.path} back"
            )
        except FileNotFoundError:
            return None
        return State({_current(name): tensor for name, tensor in found.tensors.items()}, found.notes)

    def save_state(self, state: State) -> None:
        """Replace what the run continues from.

        Raises:
            OSError: it cannot be written; the old one stays.
        """
        write_sealed(self.path / STATE, state.tensors, state.progress)

    def save_weights(self, step: int, weights: Mapping[str, Tensor], *, keep: int) -> None:
        """Add the weights of a step; of all that there are only the last `keep` stay.

        Raises:
            OSError: they cannot be written.
        """
        write_sealed(self._weights_path(step), weights, {"step": step})
        for old in self._weights_steps()[:-keep]:
            self._weights_path(old).unlink()

    def last_weights(self) -> list[dict[str, Tensor]]:
        """The weights that were kept, the oldest first.

        Raises:
            ValueError: a file is damaged, or holds the weights of another step than its name says.
        """
        return [self._read_weights(step) for step in self._weights_steps()]

    def check_weights(self, step: int, weights: Mapping[str, Tensor]) -> None:
        """See that the weights that a run continues with can be averaged, before it takes hours to take more steps.

        Args:
            step: that the run continues from: what an interrupted run saved after it is dropped, for the run takes
                those steps again.
            weights: of that step, empty at the beginning. If their own file is missing, they are written again.

        Raises:
            ValueError: a file is damaged; one at a time is read.
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
        """Of the files that `save_weights` wrote: what else somebody keeps in the folder is left alone."""
        return sorted(int(found[1]) for path in self.path.iterdir() if (found := WEIGHTS.fullmatch(path.name)))

    def _read_weights(self, step: int) -> dict[str, Tensor]:
        path = self._weights_path(step)
        advice = "delete it, and the model is averaged without it"
        found = read_sealed(path, {"step"}, advice)
        if found.notes != {"step": step}:
            raise ValueError(f"the file {path} holds other weights than those of step {step}: {advice}")
        return {current_name(name): tensor for name, tensor in found.tensors.items()}


def _current(name: str) -> str:
    """What a tensor of a state is called today, "weights.NAME" or "optimizer.NAME"."""
    part, _, rest = name.partition(".")
    return f"{part}.{current_name(rest)}" if part == "weights" else name


def read_data(path: Path, advice: str) -> tuple[PieceData | Contexts, str]:
    """Prepared data, and the fingerprint of its vocabulary.

    Args:
        advice: as of `read_sealed`, whose errors are raised.
    """
    found = read_sealed(path, {"vocabulary"}, advice)
    # Copied: what is mapped would be read from the file once more at every epoch, without a look at the seal.
    arrays = {name: tensor.numpy().copy() for name, tensor in found.tensors.items()}
    kind = Contexts if CONTEXTS in arrays else PieceData
    return kind.of_arrays(arrays), found.notes["vocabulary"]
