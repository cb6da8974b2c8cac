"""URL parameters of the "Training lab" page: the training settings, and which training step and heads to show."""

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.fields import Params, decimal, integer, matching, one_of
from transformer.tasks.config import OPTIMIZERS, TaskConfig
from transformer.tasks.registry import TASKS
from transformer.tasks.scores import SCORES
from transformer.values.kinds import KINDS, Kind

# Special values: NEWEST selects the newest recorded training step; NO_HEAD lets the page choose the head.
NEWEST, NO_HEAD = -1, 0
# Each number of heads divides each width.
WIDTHS, HEADS = ("32", "64"), ("1", "2", "4")
MAX_LAYERS, MAX_HEADS = 2, 4
# Maximum number of training steps on the page (about two minutes on two cores), and in the longest recording.
MAX_STEPS, MAX_RECORDED = 3_000, 50_000


@dataclass(frozen=True)
class LabParams(Params, prefix="lab_"):
    """The training settings, and which training step and heads to show.

    Attributes:
        task, optimizer, layers, items, steps, warmup, decay, seed: as in `TaskConfig`.
        heads, width: heads per layer and model width, one of HEADS and one of WIDTHS.
        rate: the peak learning rate.
        moment: the training step to show; NEWEST for the latest one.
        score: the head score to show, one of SCORES; "auto" for the score of the training run's first event.
        encoder, decoder, cross: the head to show for each attention kind, 1-based over all layers; NO_HEAD for the head
            of that kind's first event.
        item: the task's input, typed by the user.
    """

    task: str = one_of(tuple(TASKS), "reverse")
    optimizer: str = one_of(OPTIMIZERS, "adam")
    layers: int = integer(1, 1, MAX_LAYERS)
    heads: str = one_of(HEADS, "2")
    width: str = one_of(WIDTHS, "64")
    items: int = integer(64, 8, 256)
    steps: int = integer(400, 20, MAX_STEPS)
    warmup: int = integer(20, 0, 1_000)
    rate: float = decimal(0.005, 0.0001, 0.1)
    decay: float = decimal(0.0, 0.0, 1.0)
    seed: int = integer(1, 0, 999_999)
    moment: int = integer(NEWEST, NEWEST, MAX_RECORDED)
    score: str = one_of(("auto", *SCORES))
    encoder: int = integer(NO_HEAD, NO_HEAD, MAX_LAYERS * MAX_HEADS)
    decoder: int = integer(NO_HEAD, NO_HEAD, MAX_LAYERS * MAX_HEADS)
    cross: int = integer(NO_HEAD, NO_HEAD, MAX_LAYERS * MAX_HEADS)
    item: str = matching("[a-p]{1,40}|[0-9]{1,20}[+][0-9]{1,20}")

    @property
    def config(self) -> TaskConfig:
        """The task configuration with these settings; the weight decay is 0 if the optimiser does not support it."""
        return TaskConfig(
            task=self.task,
            optimizer=next(name for name in OPTIMIZERS if name == self.optimizer),
            d_model=int(self.width),
            heads=int(self.heads),
            layers=self.layers,
            items=self.items,
            steps=self.steps,
            warmup=self.warmup,
            learning_rate=self.rate,
            seed=self.seed,
            weight_decay=0.0 if self.optimizer == "adam-by-hand" else self.decay,
        )

    def head(self, kind: Kind) -> int:
        """Return the head chosen for an attention kind, 1-based over all layers; NO_HEAD if none was chosen."""
        return {"encoder": self.encoder, "decoder": self.decoder, "cross": self.cross}[kind]

    def from_the_beginning(self) -> Self:
        """Return a copy that shows the default training step, score, heads and item."""
        return replace(self, moment=NEWEST, score="auto", item="", **dict.fromkeys(KINDS, NO_HEAD))
