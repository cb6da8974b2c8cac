"""What the heads of a model do over many sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from transformer.analysis.aligner import Aligner, find_aligner
from transformer.analysis.heads.metrics import HeadMetrics, average, head_metrics
from transformer.analysis.heads.names import head_rules
from transformer.files.records import read_record
from transformer.text.vocabulary import Vocabulary
from transformer.values.trace import KINDS, Kind, Trace

# Digits after the point in a file.
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

    @property
    def aligner(self) -> Aligner | None:
        """The heads of cross-attention that align words; None if none do."""
        return find_aligner(self.heads["cross"])

    def to_json(self) -> str:
        """One JSON object, with six digits after the point; what is NaN is null."""
        kinds = {
            kind: {
                "queries": dict(metrics.queries),
                "values": {name: _as_lists(values) for name, values in metrics.values.items()},
            }
            for kind, metrics in self.heads.items()
        }
        aligner = self.aligner
        if aligner:
            aligner = asdict(replace(aligner, agreement=round(aligner.agreement, DIGITS)))
        document = {"model": self.model, "sentences": self.sentences, "aligner": aligner, "kinds": kinds}
        return json.dumps(document, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Statistics:
        """Read what `to_json` wrote; the aligner follows from the averages.

        Raises:
            ValueError: it is something else.
        """
        return read_record(text, lambda values: cls(
            values["model"], values["sentences"], {kind: _metrics(kind, values["kinds"][kind]) for kind in KINDS}
        ))


def _metrics(kind: Kind, written: Mapping[str, Any]) -> HeadMetrics:
    """The metrics of a kind, among them those that heads are named by; newer ones than the record are missing."""
    arrays = {name: np.array(values, dtype=np.float64) for name, values in written["values"].items()}
    metrics = HeadMetrics(kind, arrays, written["queries"])
    head_rules(metrics)
    return metrics


def statistics_of(traces: Iterable[Trace], vocabulary: Vocabulary, model: str) -> Statistics:
    """Measure every head on every sentence, and average.

    Args:
        traces: of one model, at least one; only one is in memory at a time.
        vocabulary: of the model.
        model: `Translator.version` of the model.

    Raises:
        ValueError: there is no trace.
    """
    measured: dict[Kind, list[HeadMetrics]] = {kind: [] for kind in KINDS}
    for trace in traces:
        for kind in KINDS:
            measured[kind].append(head_metrics(trace, kind, vocabulary.key_scores(kind)))
    heads: dict[Kind, HeadMetrics] = {kind: average(metrics) for kind, metrics in measured.items()}
    return Statistics(model, len(measured["encoder"]), heads)


def _as_lists(values: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else round(float(value), DIGITS) for value in row] for row in values]
