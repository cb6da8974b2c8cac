"""`TrainConfig`: the settings of a training run, stored with the run and exposed as command-line options."""

import math
from dataclasses import dataclass, field, fields
from typing import Any

from transformer.config import CHOICES, TransformerConfig, decoder_only

# Largest value of an integer setting. Seeds computed from a setting and a step number must fit into torch's 64 bits.
MAX_INTEGER = 2**31 - 1
# Ten times the depth of the deepest known models. In a narrow model
# with more layers than this, Python objects need more memory than the weights.
MAX_LAYERS = 1_000
# Largest learning rate. Muon multiplies the rate by the square root
# of a matrix dimension, and the product must be finite in float32.
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
    """Return a dataclass field with a default, a help text for `train --help`, and a valid range.

    Args:
        default: default value; its type is the type of the command-line option.
        help: one-line help text.
        least, most: inclusive bounds; for an integer, `most` defaults to MAX_INTEGER.
        above, below: exclusive bounds.
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
    """Check that every dataclass field created by `option` is within its range.

    Raises:
        ValueError: a value is out of range or not a finite number; the message names the command-line option.
    """
    for each in fields(config):
        if "bounds" not in each.metadata:
            continue
        value = getattr(config, each.name)
        name = f"--{each.name.replace('_', '-')}"
        # Compare instead of converting, because an integer may be too large for a float.
        if not -math.inf < value < math.inf:
            raise ValueError(f"{name} must be a finite number, not {value}")
        for words, bound in each.metadata["bounds"].items():
            if not COMPARISONS[words](value, bound):
                raise ValueError(f"{name} must be {words} {bound}, not {value}")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of a training run; each field's `help` describes the setting.

    Raises:
        ValueError: a value is out of range or not a finite number; the message names the command-line option.
    """

    d_model: int = option(256, "width of the residual stream", least=1)
    heads: int = option(8, "attention heads in every layer", least=1)
    layers: int = option(
        6, "layers in each stack (encoder and decoder); for a language model, all layers", least=1, most=MAX_LAYERS
    )
    d_ff: int = option(1024, "width of the feed-forward networks", least=1)
    dropout: float = option(0.1, "dropout rate", least=0, below=1)
    # Not renamed to batch_tokens, because --batch-pieces is a documented option.
    batch_pieces: int = option(4096, "tokens to predict per micro-batch, including padding", least=1)
    micro_batches: int = option(1, "micro-batches per step, divided among the processes", least=1)
    steps: int = option(7_800, "total number of steps; a finished run can be continued with more", least=1)
    warmup: int = option(200, "steps over which the learning rate rises to its peak", least=0)
    cooldown: float = option(
        0.47, "final fraction of the steps, over which the learning rate falls to 0", least=0, most=1
    )
    learning_rate: float = option(2e-3, "peak learning rate", above=0, most=MAX_RATE)
    weight_decay: float = option(0.01, "weight decay for the matrices inside the layers", least=0)
    clip: float = option(1.0, "maximum norm of a step's gradient; larger gradients are scaled down", above=0)
    label_smoothing: float = option(
        0.1, "fraction of the target probability to spread over the vocabulary", least=0, below=1
    )
    average: int = option(
        3,
        "number of checkpoints to keep; the finished model is the average of the last n of them, where n is chosen for "
        "the lowest validation loss",
        least=1,
    )
    save_minutes: float = option(10.0, "minutes between two checkpoints", least=0)
    seed: int = option(1, "seed of the initial weights, the data order and dropout", least=0)
    positions: str = field(
        default="",
        metadata={
            "help": "positional encoding; the default is sinusoidal for a translator and learned for a language model",
            "choices": CHOICES["positions"],
        },
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.warmup > self.steps:
            raise ValueError(f"--warmup must be at most --steps ({self.steps}), not {self.warmup}")
        if self.positions not in ("", *CHOICES["positions"]):
            raise ValueError(f"--positions must be one of {', '.join(CHOICES['positions'])}, not {self.positions!r}")

    def model(self, vocabulary: int) -> TransformerConfig:
        """Return the configuration of a translation model whose joint vocabulary has `vocabulary` tokens."""
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
        """Return the configuration of a language model with `vocabulary` tokens and a context of `context` tokens."""
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
        return {"positions": self.positions} if self.positions else {}
