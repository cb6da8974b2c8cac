"""What the heads of a model do over many sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from transformer.analysis.heads import HeadMetrics, average, head_metrics
from transformer.trace import KINDS, Kind, Trace

# Digits after the point that are kept in a file.
DIGITS = 6


@dataclass(frozen=True, eq=False)
class Statistics:
    """Metrics of all heads of a model, averaged over sentences.

    Attributes:
        model: `Translator.version` of the model that was measured.
        sentences: how many.
        heads: the averages, by kind.
    """

    model: str
    sentences: int
    heads: Mapping[Kind, HeadMetrics]

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", MappingProxyType(dict(self.heads)))

    def to_json(self) -> str:
        """One JSON object, with six digits after the point; what is NaN is null."""
        kinds = {
            kind: {
                "queries": dict(metrics.queries),
                "values": {name: _as_lists(values) for name, values in metrics.values.items()},
            }
            for kind, metrics in self.heads.items()
        }
        return json.dumps({"model": self.model, "sentences": self.sentences, "kinds": kinds}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Statistics:
        """Read what `to_json` wrote."""
        written = json.loads(text)
        heads = {
            kind: HeadMetrics(
                kind,
                {name: np.array(values, dtype=np.float64) for name, values in metrics["values"].items()},
                metrics["queries"],
            )
            for kind, metrics in written["kinds"].items()
        }
        return cls(written["model"], written["sentences"], heads)


def statistics_of(traces: Iterable[Trace], scores: Sequence[float], model: str) -> Statistics:
    """Measure every head on every sentence, and average.

    Args:
        traces: of one model, at least one; each is let go before the next is taken.
        scores: of each piece of the vocabulary, V. See `Tokenizer.scores`.
        model: `Translator.version` of the model.

    Raises:
        ValueError: there is no trace.
    """
    measured: dict[Kind, list[HeadMetrics]] = {kind: [] for kind in KINDS}
    for trace in traces:
        for kind in KINDS:
            measured[kind].append(head_metrics(trace, kind, scores))
    heads = {kind: average(metrics) for kind, metrics in measured.items()}
    return Statistics(model, len(measured["encoder"]), heads)


def _as_lists(values: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else round(float(value), DIGITS) for value in row] for row in values]
