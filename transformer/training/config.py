"""`TrainConfig`: the settings of a training run, stored with the run and exposed as command-line options."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from transformer.config import CHOICES, TransformerConfig, decoder_only

# Largest integer setting. Numbers computed from a seed and a step must fit into the 64 bits of torch's seeds.
MAX_INTEGER = 2**31 - 1
# Ten times the depth of the deepest known models. In deeper narrow models, Python objects take more memory than
# weights.
MAX_LAYERS = 1_000
# Largest learning rate. Its product with the root of a matrix's size must be finite in float32.
MAX_RATE = 1e30


def option(
    default: float,
    help: str,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> Any:
    """Return a dataclass field with a default, a help text for `train --help`, and a range.

    Args:
        default: default value, which also decides the type.
        help: one line of help.
        least, most: smallest and largest valid value. No integer may be above MAX_INTEGER.
        above, below: bounds that the value must not reach.
    """
    if most is None and isinstance(default, int):
        most = MAX_INTEGER
    bounds = {"at least": least, "above": above, "below": below, "at most": most}
    limits = {name: bound for name, bound in bounds.items() if bound is not None}
    return field(default=default, metadata={"help": help, "bounds": limits})


COMPARISONS = {
    "at least": lambda value, bound: value >= bound,
    "above": lambda value, bound: value > bound,
    "below": lambda value, bound: value < bound,
    "at most": lambda value, bound: value <= bound,
}


def check_options(config: Any) -> None:
    """Check that all dataclass fields created by `option` are within their ranges.

    Raises:
        ValueError: a value is out of range or not a number; the message has the name of the command-line option.
    """
    for each in fields(config):
        if "bounds" not in each.metadata:
            continue
        value = getattr(config, each.name)
        name = f"--{each.name.replace('_', '-')}"
        # Compare instead of converting, because an integer may be too large for a float.
        if not -math.inf < value < math.inf:
            raise ValueError(f"{name} must be a number, not {value}")
        for words, bound in each.metadata["bounds"].items():
            if not COMPARISONS[words](value, bound):
                raise ValueError(f"{name} must be {words} {bound}, not {value}")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of a training run. The `help` of each field describes it.

    Raises:
        ValueError: a value is out of range or not a number; the message names the option.
    """

    d_model: int = option(256, "width of the residual stream", least=1)
    heads: int = option(8, "attention heads of every layer", least=1)
    layers: int = option(
        6, "layers of the encoder, and as many of the decoder; of a language model, all", least=1, most=MAX_LAYERS
    )
    d_ff: int = option(1024, "width of the feed-forward networks", least=1)
    dropout: float = option(0.1, "rate of dropout", least=0, below=1)
    # Kept for compatibility: --batch-pieces is a documented option.
    batch_pieces: int = option(4096, "tokens to predict in a micro-batch, including padding", least=1)
    micro_batches: int = option(1, "micro-batches in a step, divided among the processes", least=1)
    steps: int = option(7_800, "steps of the whole run; a run can be continued with more", least=1)
    warmup: int = option(200, "steps in which the learning rate rises to its peak", least=0)
    cooldown: float = option(
        0.47, "share of the steps, at the end, in which the learning rate falls to 0", least=0, most=1
    )
    learning_rate: float = option(2e-3, "learning rate at its peak", above=0, most=MAX_RATE)
    weight_decay: float = option(0.01, "weight decay of the matrices inside the layers", least=0)
    clip: float = option(1.0, "the gradient of a step is scaled down to this norm if it is larger", above=0)
    label_smoothing: float = option(
        0.1, "share of the target probability that is spread over the vocabulary", least=0, below=1
    )
    average: int = option(
        3,
        "number of checkpoints to keep; the finished model is the average of the last ones, as many as give the lowest "
        "validation loss",
        least=1,
    )
    save_minutes: float = option(10.0, "minutes between two checkpoints", least=0)
    seed: int = option(1, "seed of the first weights, the order of the data and dropout", least=0)
    positions: str = field(
        default="",
        metadata={
            "help": "position encoding; the default is sinusoidal for a translator and learned for a language model",
            "choices": CHOICES["positions"],
        },
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.warmup > self.steps:
            raise ValueError(f"--warmup must be at most --steps, which is {self.steps}, not {self.warmup}")
        if self.positions not in ("", *CHOICES["positions"]):
            raise ValueError(f"--positions must be one of {', '.join(CHOICES['positions'])}, not {self.positions!r}")

    def model(self, vocabulary: int) -> TransformerConfig:
        """Return the configuration of a translation model for a joint vocabulary of `vocabulary` tokens."""
        return TransformerConfig(
            source_vocabulary=vocabulary,
            target_vocabulary=vocabulary,
            d_model=self.d_model,
            heads=self.heads,
            encoder_layers=self.layers,
            decoder_layers=self.layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            tied_embeddings="all",
            **self._positions,
        )

    def language_model(self, vocabulary: int, context: int) -> TransformerConfig:
        """Return the configuration of a language model with `vocabulary` tokens and contexts of `context` tokens."""
        return decoder_only(
            vocabulary,
            d_model=self.d_model,
            heads=self.heads,
            layers=self.layers,
            d_ff=self.d_ff,
            dropout=self.dropout,
            max_positions=context,
            **self._positions,
        )

    @property
    def _positions(self) -> dict[str, Any]:
        """Return the keyword argument for the type of positional encoding; empty for the default."""
        return {"positions": self.positions} if self.positions else {}
