"""Measures the effect of switching off each head over many sentences, with confidence intervals."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from transformer.ablation.estimate import Estimate
from transformer.ablation.importance import MeasuredImportance, head_importance, normalised_by_layer
from transformer.files.records import Record
from transformer.running.translator import Translator
from transformer.values.head_means import sentences_digest
from transformer.values.interventions import DEFAULT_DRAWS, Mode
from transformer.values.kinds import KINDS, Kind

BOOTSTRAP_DRAWS = 2000
BOOTSTRAP_SEED = 0
# Percentiles at the ends of the 95% confidence interval.
INTERVAL = (2.5, 97.5)
# Describes the confidence intervals in the files that contain them.
BOOTSTRAP = f"95% interval, percentile bootstrap over sentences, {BOOTSTRAP_DRAWS} draws, seed {BOOTSTRAP_SEED}"
# Fields that have one value per attention kind.
BY_KIND = ("measured", "estimated", "magnitude")


@dataclass(frozen=True, eq=False)
class ImportanceStatistics(Record):
    """Averages of `MeasuredImportance` over many sentences.

    Attributes:
        model: `Translator.version` of the model.
        mode: how a head's output was replaced.
        sentences: number of sentences.
        digest: `sentences_digest` of the sentences.
        measured, estimated: change in the translation's log-probability without the head, nats, [L, H] by attention
            kind.
        magnitude: mean absolute gradient of the log-probability with respect to a factor that multiplies the head's
            output, divided by the norm of these values in the layer, [L, H] by attention kind (Michel et al. 2019).
        agreement: Spearman's rank correlation between measured and estimated changes within a sentence, -1 to 1.
        seed, draws: seed and number of draws per sentence in "resample" mode. Each sentence's draws are averaged first.
        reference: `sentences_digest` of the sentences that supplied replacement outputs; empty in modes without them.
    """

    model: str
    mode: Mode
    sentences: int
    digest: str
    measured: Mapping[Kind, Estimate]
    estimated: Mapping[Kind, Estimate]
    magnitude: Mapping[Kind, np.ndarray]
    agreement: Estimate
    seed: int = 0
    draws: int = 1
    reference: str = ""

    def __post_init__(self) -> None:
        for name in BY_KIND:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def _written(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name not in BY_KIND}
        kinds = {kind: {name: getattr(self, name)[kind] for name in BY_KIND} for kind in KINDS}
        return {**values, "interval": BOOTSTRAP, "kinds": kinds}

    @classmethod
    def _fields(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {name: {kind: values["kinds"][kind][name] for kind in KINDS} for name in BY_KIND}


def importance_statistics(
    translator: Translator, sentences: Iterable[str], *, mode: Mode = "zero", seed: int = 0, draws: int = DEFAULT_DRAWS
) -> ImportanceStatistics:
    """Measure every head's importance on every sentence, and average over the sentences.

    Args:
        translator: the model; each sentence is scored on the model's own translation.
        sentences: at least one sentence; each is measured before the next one is read.
        mode, seed, draws: as in `head_importance`.

    Raises:
        ValueError: there are no sentences.
    """
    read: list[str] = []
    each: list[MeasuredImportance] = []
    for text in sentences:
        each.append(head_importance(translator, text, mode=mode, seed=seed, draws=draws))
        read.append(text)
    if not read:
        raise ValueError("there are no sentences: the mean needs at least one")
    estimated: dict[Kind, np.ndarray] = {kind: np.stack([one.estimated[kind] for one in each]) for kind in KINDS}
    return ImportanceStatistics(
        translator.version,
        mode,
        len(read),
        sentences_digest(read),
        {kind: bootstrap(np.stack([one.measured[kind] for one in each])) for kind in KINDS},
        {kind: bootstrap(estimated[kind]) for kind in KINDS},
        {kind: normalised_by_layer(np.abs(estimated[kind]).mean(axis=0)) for kind in KINDS},
        bootstrap(np.array([one.agreement for one in each])),
        *((seed, draws) if mode == "resample" else (0, 1)),
        translator.means.sentences if translator.means is not None and mode in ("mean", "resample") else "",
    )


def bootstrap(values: np.ndarray) -> Estimate:
    """Return the mean over N sentences, with a 95% confidence interval (percentile bootstrap, Efron 1979).

    The shape of `values` is [N, ...]. NaN values are excluded; where all N values are NaN, the mean is NaN.
    """
    samples = np.random.default_rng(BOOTSTRAP_SEED).integers(len(values), size=(BOOTSTRAP_DRAWS, len(values)))
    # [BOOTSTRAP_DRAWS, N] x [N, ...]: multiplying by how often each sentence was drawn avoids copying all values for
    # every draw.
    times = np.stack([np.bincount(draw, minlength=len(values)) for draw in samples]) / len(values)
    is_finite = np.isfinite(values)
    if is_finite.all():
        low, high = np.percentile(np.tensordot(times, values, axes=1), INTERVAL, axis=0)
        return Estimate(*map(np.asarray, (values.mean(axis=0), low, high)))
    filled, weight = np.where(is_finite, values, 0.0), is_finite.astype(np.float64)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        means = np.tensordot(times, filled, axes=1) / np.tensordot(times, weight, axes=1)
        low, high = np.nanpercentile(means, INTERVAL, axis=0)
        return Estimate(*map(np.asarray, (filled.sum(axis=0) / weight.sum(axis=0), low, high)))
