"""Measures how important each head is for a translation, by ablation and by a gradient estimate."""

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

# Maps each attention kind to one number per head, float64 [L, H].
ByHead = Mapping[Kind, np.ndarray]


@dataclass(frozen=True, eq=False)
class MeasuredImportance:
    """Change in a translation's log-probability when a single head is switched off, measured for every head.

    A positive change means that the translation becomes more likely without the head.

    Attributes:
        mode: how a head's output is replaced.
        measured: change in the log-probability when only one head is off, averaged over the draws, nats.
        estimated: first-order estimate of the change in "zero" mode, nats: the negative gradient of the
            log-probability with respect to a factor that multiplies the head's output.
        log_prob: log-probability of the translation with every head on, nats.
        drawn: change in each draw of "resample" mode, nats, [R, L, H] for each attention kind. R is 1 in other modes.
        changed: fraction of draws, 0 to 1, in which the translation's token is not the most likely one at some step. In
            such a draw, greedy decoding would write a different translation.
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
        """Spearman's rank correlation between measured and estimated changes, over all heads."""
        return rank_correlation(concatenated_heads(self.estimated), concatenated_heads(self.measured))


@dataclass(frozen=True)
class ImportanceRun(Run[MeasuredImportance]):
    """Model run that computes `head_importance` for a translation.

    Attributes:
        trace: model run that supplies the text and, optionally, the translation.
        mode: how a head's output is replaced.
        seed, draws: seed and number of draws in "resample" mode.

    Raises: the errors of `TraceRun`.
    """

    trace: TraceRun
    mode: Mode
    seed: int = 0
    draws: int = DEFAULT_DRAWS

    message = "Switching off each head in turn …"
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
    """Measure, in batches, the effect of switching off each head on its own, and estimate this effect from gradients.

    Args:
        translator: the model.
        text: sentence in the source language.
        target: translation of the sentence, as text or token ids; None for the unchanged model's translation.
        mode: how a head's output is replaced.
        seed, draws: seed and number of draws in "resample" mode. Within a draw, one sentence supplies the replacements
            for all heads.

    Raises: the errors of `Translator.trace`.
    """
    heads = all_heads(translator.config)
    target = [token.id for token in translator.translate(text).tokens] if target is None else target
    runs = [draws_of(Interventions(gates={head: 0.0}, mode=mode, seed=seed), draws) for head in heads]
    scores = translator.score(text, target, [run for each in runs for run in each])
    # [heads * draws] -> [draws, heads]
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
    """Arrange one number per head in an array [L, H] for each attention kind; NaN for heads missing from `heads`."""
    config = translator.config
    arrays: dict[Kind, np.ndarray] = {kind: np.full((config.layers_of(kind), config.heads), np.nan) for kind in KINDS}
    for (kind, layer, head), value in zip(heads, values, strict=True):
        arrays[kind][layer, head] = value
    return arrays


def concatenated_heads(values: ByHead) -> np.ndarray:
    """Concatenate all heads' numbers into one array, in the order of `all_heads`."""
    return np.concatenate([values[kind].ravel() for kind in KINDS])


def normalised_by_layer(values: np.ndarray) -> np.ndarray:
    """Divide the magnitudes of values, [L, H], by their layer's Euclidean norm (Michel et al. 2019, section 4.1).

    A layer of zeros stays zero.
    """
    norm = np.sqrt((values**2).sum(axis=-1, keepdims=True))
    return np.abs(values) / np.where(norm == 0, 1, norm)
