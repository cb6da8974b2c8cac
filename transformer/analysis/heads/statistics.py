"""Head metrics averaged over many sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from transformer.analysis.aligner import Aligner, find_aligner
from transformer.analysis.heads.metrics import HeadMetrics, average, head_metrics
from transformer.analysis.heads.names import RULES
from transformer.files.records import DIGITS, Record
from transformer.text.vocabulary import Vocabulary
from transformer.values.trace import KINDS, Kind, Trace


@dataclass(frozen=True, eq=False)
class Statistics(Record):
    """Metrics of all heads in a model, averaged over sentences.

    Attributes:
        model: `Translator.version` of the measured model.
        sentences: number of sentences.
        heads: averaged metrics, by attention kind.
    """

    model: str
    sentences: int
    heads: Mapping[Kind, HeadMetrics]

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", MappingProxyType(dict(self.heads)))
        for kind, metrics in self.heads.items():
            for rule in RULES:
                # Raise a KeyError if a metric that the rule needs is missing, as in files from older versions.
                if kind in rule.kinds:
                    rule.holds(metrics.values)

    @property
    def aligner(self) -> Aligner | None:
        """Cross-attention heads that align words; None if there are none."""
        return find_aligner(self.heads["cross"])

    def _written(self) -> dict[str, Any]:
        aligner = None
        if found := self.aligner:
            # Files keep the key `pieces`, an older word for tokens, so that the format stays the same.
            aligner = {
                "layer": found.layer,
                "heads": found.heads,
                "step": found.step,
                "agreement": round(found.agreement, DIGITS),
                "pieces": found.tokens,
            }
        kinds = {
            kind: {"queries": dict(metrics.queries), "values": dict(metrics.values)}
            for kind, metrics in self.heads.items()
        }
        return {"model": self.model, "sentences": self.sentences, "aligner": aligner, "kinds": kinds}

    @classmethod
    def _fields(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"heads": {kind: {"kind": kind, **values["kinds"][kind]} for kind in KINDS}}


def statistics_of(traces: Iterable[Trace], vocabulary: Vocabulary, model: str) -> Statistics:
    """Measure every head on every sentence, and average the metrics.

    Args:
        traces: traces of one model, at least one. With a generator, only one trace is in memory at a time.
        vocabulary: the model's vocabulary.
        model: `Translator.version` of the model.

    Raises:
        ValueError: there are no traces.
    """
    measured: dict[Kind, list[HeadMetrics]] = {kind: [] for kind in KINDS}
    for trace in traces:
        for kind in KINDS:
            measured[kind].append(head_metrics(trace, kind, vocabulary.key_scores(kind)))
    heads: dict[Kind, HeadMetrics] = {kind: average(metrics) for kind, metrics in measured.items()}
    return Statistics(model, len(measured["encoder"]), heads)
