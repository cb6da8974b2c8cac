"""`TaskConfig`: settings of a task training run, stored with the run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import msgspec

from transformer.config import TransformerConfig
from transformer.errors import TaskError
from transformer.tasks.registry import task_named
from transformer.tasks.task import vocabulary_size
from transformer.training.config import TrainConfig, check_options, option
from transformer.training.size import parameters

OptimizerName = Literal["muon", "adam", "adam-by-hand"]
# Maximum total size of a run's saved weights, in bytes, because a server keeps the runs of several users in memory.
SNAPSHOT_BYTES = 128 * 1024**2
OPTIMIZERS: tuple[OptimizerName, ...] = get_args(OptimizerName)


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """Settings of a task training run, limited to sizes that a page can train while a user waits.

    Attributes:
        task: name of the task.
        optimizer: "adam" is torch's AdamW. "adam-by-hand" is Adam from `transformer.backpropagation`, without weight
            decay. "muon" is the translation model's optimiser.
        positions: as in `TransformerConfig`.

    All other fields are described by their `help`.

    Raises:
        TaskError: there is no such task or optimiser, or a value is out of range; the message names the option.
    """

    task: str
    optimizer: OptimizerName = "adam"
    d_model: int = option(64, "width of the residual stream", least=8, most=128)
    heads: int = option(2, "attention heads in every layer", least=1, most=8)
    layers: int = option(1, "layers in each stack (encoder and decoder)", least=1, most=2)
    items: int = option(64, "training items per step", least=1, most=4096)
    steps: int = option(400, "total number of steps", least=1, most=50_000)
    warmup: int = option(20, "steps over which the learning rate rises to its peak", least=0, most=50_000)
    cooldown: float = option(
        0.6, "final fraction of the steps, over which the learning rate falls to 0", least=0, most=1
    )
    learning_rate: float = option(5e-3, "peak learning rate", above=0, most=1)
    weight_decay: float = option(0.0, "weight decay", least=0, most=10)
    snapshots: int = option(
        100, "number of snapshots with weights, in addition to the snapshot before the first step", least=1, most=200
    )
    seed: int = option(1, "seed of the initial weights and of the items", least=0, most=2**31 - 1)
    positions: str = "sinusoidal"

    def __post_init__(self) -> None:
        task_named(self.task)
        if self.optimizer not in OPTIMIZERS:
            raise TaskError(f"there is no optimiser {self.optimizer!r}: choose one of {', '.join(OPTIMIZERS)}")
        try:
            check_options(self)
            _ = self.model
        except TaskError:
            raise
        except ValueError as error:
            raise TaskError(str(error)) from None
        most = SNAPSHOT_BYTES // (2 * self.parameters) - 1
        if min(self.snapshots, self.steps) > most:
            raise TaskError(f"--snapshots must be at most {most} for a model of this size, not {self.snapshots}")
        if self.optimizer == "adam-by-hand" and self.weight_decay:
            raise TaskError("adam-by-hand has no weight decay: use --weight-decay 0")

    @property
    def training(self) -> TrainConfig:
        """The settings as a `TrainConfig`, without label smoothing or dropout."""
        return TrainConfig(
            d_model=self.d_model,
            heads=self.heads,
            layers=self.layers,
            d_ff=2 * self.d_model,
            dropout=0.0,
            steps=self.steps,
            warmup=min(self.warmup, self.steps),
            cooldown=self.cooldown,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            label_smoothing=0.0,
            seed=self.seed,
            positions=self.positions,
        )

    @property
    def snapshot_steps(self) -> tuple[int, ...]:
        """Steps after which to take a snapshot, as evenly spaced as possible, including step 0 and the last step."""
        count = min(self.snapshots, self.steps)
        return tuple(round(self.steps * number / count) for number in range(count + 1))

    @property
    def model(self) -> TransformerConfig:
        return self.training.model(vocabulary_size(task_named(self.task)))

    @property
    def parameters(self) -> int:
        """Number of parameters, computed from a formula, because building the model would need torch."""
        return parameters(self.model)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> TaskConfig:
        """Parse a configuration serialised by `to_json`.

        Raises:
            TaskError: the text is not a valid configuration.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise TaskError(f"the configuration is invalid: {error}") from None
