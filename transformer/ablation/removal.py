"""Measures how many heads a translation needs, by removing heads cumulatively."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.ablation.importance import ByHead, ImportanceRun, MeasuredImportance, concatenated_heads
from transformer.config import TransformerConfig
from transformer.errors import InterventionError
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.running.translator_run import ReadTarget
from transformer.values.interventions import Head, Interventions, Mode, all_heads
from transformer.values.run import Run, Stated
from transformer.values.trace import Trace

# Maximum number of random removal orders. For each order, the translation is scored once per head.
MAX_ORDERS = 16


@dataclass(frozen=True, eq=False)
class RemovalCurve:
    """A translation's log-probability as heads are removed cumulatively.

    Attributes:
        order: the N heads in removal order.
        mode: how a head's output is replaced.
        log_probs: log-probability, in nats, of the translation without the first k heads, for k from 0 to N: [N + 1].
    """

    order: tuple[Head, ...]
    mode: Mode
    log_probs: np.ndarray

    def __post_init__(self) -> None:
        self.log_probs.setflags(write=False)


def least_important_first(config: TransformerConfig, change: ByHead) -> tuple[Head, ...]:
    """Order heads by importance, starting with the head whose removal leaves the translation most likely.

    Args:
        config: model configuration.
        change: change in the log-probability when each head is removed, such as `MeasuredImportance.measured` or
            `.estimated`.
    """
    heads = all_heads(config)
    return tuple(heads[index] for index in np.argsort(-concatenated_heads(change), kind="stable"))


def random_order(config: TransformerConfig, seed: int) -> tuple[Head, ...]:
    """Return all heads in a random order."""
    heads = all_heads(config)
    return tuple(heads[index] for index in np.random.default_rng(seed).permutation(len(heads)))


def removal_curve(
    translator: Translator, text: str, target: ReadTarget, order: Sequence[Head], *, mode: Mode = "zero", seed: int = 0
) -> RemovalCurve:
    """Remove heads cumulatively, and score the same translation after each removal, in batches.

    Args:
        translator: the model.
        text: sentence in the source language.
        target: translation of the sentence, as text or token ids; None uses the unchanged model's own.
        order: N heads, for example from `least_important_first` or `random_order`.
        mode: how a head's output is replaced.
        seed: seed in "resample" mode. Only the first draw is used, because a curve already needs one model run per
            head.

    Raises: the errors of `Translator.trace`.
    """
    variants = [without_heads(order[:count], mode, seed) for count in range(1, len(order) + 1)]
    scores = translator.score(text, target, variants)
    full_log_prob = scores.baseline.astype(np.float64).sum()
    return RemovalCurve(tuple(order), mode, full_log_prob + np.concatenate([[0.0], scores.change]))


def without_heads(heads: Sequence[Head], mode: Mode = "zero", seed: int = 0) -> Interventions:
    """Return interventions that switch off all given heads."""
    return Interventions(gates=dict.fromkeys(heads, 0.0), mode=mode, seed=seed)


@dataclass(frozen=True)
class RemovalRun(Run[tuple[RemovalCurve, ...]]):
    """Model run that computes removal curves for several orders of removal.

    The first order is by measured importance, the second by the gradient estimate; all others are random.

    Attributes:
        importance: model run that measures importance; also sets the replacement mode and the seed.
        orders: number of random orders of removal.

    Raises:
        InterventionError: `orders` is not between 0 and MAX_ORDERS.
    """

    importance: ImportanceRun
    orders: int

    def __post_init__(self) -> None:
        if not 0 <= self.orders <= MAX_ORDERS:
            raise InterventionError(f"The number of random orders is {self.orders:,}: give 0 to {MAX_ORDERS}.")

    message = "Removing the heads one by one …"
    long = True

    @property
    def needs(self) -> tuple[ImportanceRun, TraceRun]:
        return self.importance, self.importance.trace

    def compute(self, runs: Translator, importance: MeasuredImportance, read: Trace) -> tuple[RemovalCurve, ...]:
        asked, config = self.importance, runs.config
        ranked = [
            least_important_first(config, importance.measured),
            least_important_first(config, importance.estimated),
        ]
        ranked += [random_order(config, number) for number in range(self.orders)]
        target = asked.trace.target or [token.id for token in read.predicted_tokens]
        return tuple(
            removal_curve(runs, asked.trace.text, target, order, mode=asked.mode, seed=asked.seed) for order in ranked
        )

    def states(self, result: tuple[RemovalCurve, ...]) -> Mapping[str, Stated]:
        return {"log-probability of each order": np.stack([curve.log_probs for curve in result])}
