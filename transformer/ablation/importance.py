"""Measures the importance of each head for a translation, by ablation and by a gradient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from transformer.ablation.estimate import rank_correlation
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.running.translator_run import ReadTarget
from transformer.values.interventions import DEFAULT_DRAWS, Head, Interventions, Mode, all_heads, draws_of
from transformer.values.kinds import KINDS, Kind
from transformer.values.run import Run, Stated

# One number per head: float64 [L, H] for each kind of attention.
ByHead = Mapping[Kind, np.ndarray]


@dataclass(frozen=True, eq=False)
class MeasuredImportance:
    """The change of one translation's log-probability when one head is switched off, for each head.

    A change above 0 means that the translation becomes more likely without the head.

    Attributes:
        mode: how a head is replaced.
        measured: change of the log-probability when only this head is off, mean over the draws, nats.
        estimated: first-order estimate of the change in the mode "zero", nats. It is minus the gradient with respect to
            the factor that multiplies the head's output.
        log_prob: log-probability of the translation with every head on, nats.
        drawn: change in each draw of the mode "resample", nats, [R, L, H] for each kind of attention. In the other
            modes R is 1.
        changed: share of the draws, 0 to 1, in which some step prefers a token that is not the translation's. Greedy
            decoding would then write another translation.
    """

    mode: Mode
    measured: ByHead
    estimated: ByHead
    log_prob: float
    drawn: ByHead
    changed: ByHead = field(default_factory=dict)

    def __post_init__(self) -> None:
        for by_kind in (self.measured, self.estimated, self.drawn, self.changed):
            for array in by_kind.values():
                array.setflags(write=False)

    @property
    def agreement(self) -> float:
        """Spearman's rank correlation, over all heads, of the measured and the estimated changes."""
        return rank_correlation(flattened(self.estimated), flattened(self.measured))


@dataclass(frozen=True)
class ImportanceRun(Run[MeasuredImportance]):
    """Run that computes `head_importance` for a translation.

    Attributes:
        trace: run whose result contains the translation.
        mode, seed, draws: as in `head_importance`.

    Raises: the errors of `TraceRun`.
    """

    trace: TraceRun
    mode: Mode
    seed: int = 0
    draws: int = DEFAULT_DRAWS

    message = "Switching every head off …"
    long = True

    def compute(self, runs: Translator) -> MeasuredImportance:
        text, target = self.trace.text, self.trace.target
        return head_importance(runs, text, target, mode=self.mode, seed=self.seed, draws=self.draws)

    def states(self, result: MeasuredImportance) -> Mapping[str, Stated]:
        return {
            f"{name}, {kind}": values
            for name, found in (("measured", result.measured), ("estimated", result.estimated))
            for kind, values in found.items()
        }


def head_importance(
    translator: Translator,
    text: str,
    target: ReadTarget = None,
    *,
    mode: Mode = "zero",
    seed: int = 0,
    draws: int = DEFAULT_DRAWS,
) -> MeasuredImportance:
    """Switch off each head in turn, all in batches, and compute the gradient estimate.

    Args:
        translator: the model.
        text: a sentence in the source language.
        target: its translation, or the ids of its tokens; None takes the model's own, as trained.
        mode: how a head is replaced.
        seed, draws: seed and number of draws of the mode "resample". In each draw, the same sentence replaces every
            head.

    Raises: the errors of `Translator.trace`.
    """
    heads = all_heads(translator.config)
    target = [token.id for token in translator.translate(text).tokens] if target is None else target
    runs = [draws_of(Interventions(gates={head: 0.0}, mode=mode, seed=seed), draws) for head in heads]
    scores = translator.score(text, target, [run for each in runs for run in each])
    # [H R] -> [R, H] for all H heads.
    drawn = [by_head(translator, heads, each) for each in scores.change.reshape(len(heads), -1).T]
    changes: dict[Kind, np.ndarray] = {kind: np.stack([each[kind] for each in drawn]) for kind in KINDS}
    changed = (scores.ranks > 1).any(axis=1).reshape(len(heads), -1).mean(axis=1)
    gradients = translator.gate_gradients(text, target)
    return MeasuredImportance(
        mode,
        {kind: changes[kind].mean(axis=0) for kind in KINDS},
        {kind: -gradient.astype(np.float64) for kind, gradient in gradients.items()},
        float(scores.baseline.sum()),
        changes,
        by_head(translator, heads, changed),
    )


def by_head(translator: Translator, heads: Sequence[Head], values: Iterable[float]) -> dict[Kind, np.ndarray]:
    """Arrange one number per head as arrays [L, H] by kind of attention; NaN for heads that are not given."""
    config = translator.config
    arrays: dict[Kind, np.ndarray] = {kind: np.full((config.layers_of(kind), config.heads), np.nan) for kind in KINDS}
    for (kind, layer, head), value in zip(heads, values, strict=True):
        arrays[kind][layer, head] = value
    return arrays


def flattened(values: ByHead) -> np.ndarray:
    """Return the numbers of all heads as one array, in the order of `all_heads`."""
    return np.concatenate([values[kind].ravel() for kind in KINDS])


def normalised_by_layer(values: np.ndarray) -> np.ndarray:
    """Divide the magnitudes of values [L, H] by the Euclidean norm of their layer (Michel et al. 2019, section 4.1).

    A layer that is all zeros stays unchanged.
    """
    norm = np.sqrt((values**2).sum(axis=-1, keepdims=True))
    return np.abs(values) / np.where(norm == 0, 1, norm)
