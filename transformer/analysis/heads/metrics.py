"""Metrics that describe what each attention head does.

Each metric is a mean over queries. Queries to which the metric does not apply are left out: for example, the first
token has no previous token. A metric that applies to no query is NaN.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from transformer.analysis.alignment import alignment_rows, consensus
from transformer.analysis.heads.pattern import row_entropy
from transformer.values.tokens import Token
from transformer.values.trace import KINDS, Kind, Trace

SELF: tuple[Kind, ...] = ("encoder", "decoder")
SOURCE: tuple[Kind, ...] = ("encoder", "cross")
OFFSETS = {"previous": -1, "same": 0, "next": 1}


@dataclass(frozen=True)
class Metric:
    """Description of a head metric.

    Attributes:
        name: key in `HeadMetrics.values` and in URLs: a lower-case letter, then at most 29 characters from a-z, 0-9 and
            _.
        title: short column heading.
        meaning: caption that explains the metric.
        unit: "nats", "tokens" or "share".
        low, high: range of the values; `low` is at least 0, and `high` is None if the maximum depends on the sentence.
        kinds: attention kinds for which the metric is defined.
    """

    name: str
    title: str
    meaning: str
    unit: str
    low: float
    high: float | None
    kinds: tuple[Kind, ...]


def _share_metric(name: str, title: str, meaning: str, kinds: tuple[Kind, ...]) -> Metric:
    return Metric(name, title, meaning, "share", 0.0, 1.0, kinds)


METRICS = (
    Metric(
        "entropy",
        "entropy",
        "How spread out a query's attention is: 0 if all of it is on one token, ln n if it is even across n tokens.",
        "nats",
        0.0,
        None,
        KINDS,
    ),
    Metric(
        "span",
        "span",
        "How many tokens a query effectively looks at: e to the power of the entropy of its weights.",
        "tokens",
        1.0,
        None,
        KINDS,
    ),
    _share_metric(
        "confidence",
        "confidence",
        "A query's largest weight, not counting start and end symbols (Voita et al. 2019).",
        KINDS,
    ),
    _share_metric(
        "strongest_previous",
        "looks most at the previous token",
        "Share of queries that look most at the previous token. The first two queries are not counted.",
        SELF,
    ),
    _share_metric(
        "strongest_same",
        "looks most at the same token",
        "Share of queries that look most at their own position. The first token and the end symbol are not counted.",
        SELF,
    ),
    _share_metric(
        "strongest_next",
        "looks most at the next token",
        "Share of queries that look most at the next token. The query before the end symbol is not counted.",
        ("encoder",),
    ),
    _share_metric(
        "strongest_rarest",
        "looks most at the rarest token",
        "Share of queries that look most at the rarest token. Rarity is estimated from the order or the scores of the "
        "tokens in the vocabulary. Sentences whose rarest token is the first token are not counted.",
        KINDS,
    ),
    _share_metric("previous", "on the previous token", "Attention on the token before the query.", SELF),
    _share_metric("same", "on the same token", "Attention on the query's own position.", SELF),
    _share_metric("next", "on the next token", "Attention on the token after the query.", ("encoder",)),
    _share_metric(
        "first",
        "on the first token",
        "Attention on the first token, which in masked self-attention is the start symbol.",
        KINDS,
    ),
    _share_metric("end", "on the end symbol", "Attention on the end symbol.", SOURCE),
    _share_metric(
        "punctuation",
        "on punctuation",
        "Attention on punctuation other than the first token. Sentences without punctuation are not counted.",
        KINDS,
    ),
    Metric(
        "distance",
        "distance",
        "The mean distance |i - j| to the tokens that a query looks at, weighted by attention.",
        "tokens",
        0.0,
        None,
        SELF,
    ),
    _share_metric(
        "alignment_predicted",
        "aligns the predicted token",
        "Share of target tokens for which the head looks most at the source token that gets the most attention from "
        "all heads together. The head is measured at the step that predicts the target token. Links to the first "
        "source token are not counted.",
        ("cross",),
    ),
    _share_metric(
        "alignment_read",
        "aligns the token just read",
        "Like “aligns the predicted token”, but measured one step later, when the decoder reads the target token "
        "(Shift-Att in Chen et al. 2020).",
        ("cross",),
    ),
)


@dataclass(frozen=True, eq=False)
class HeadMetrics:
    """Metrics of all heads for one attention kind.

    Attributes:
        kind: "encoder", "decoder" or "cross".
        values: metric values by name, in the order of `METRICS`: float64 [L, H], read-only; NaN if the metric applied
            to no query. Metrics that are not defined for the attention kind are missing.
        queries: number of queries in each metric's mean, by name.
    """

    kind: Kind
    values: Mapping[str, np.ndarray]
    queries: Mapping[str, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        object.__setattr__(self, "queries", MappingProxyType(dict(self.queries)))
        for values in self.values.values():
            values.setflags(write=False)


def metrics_of(kind: Kind) -> tuple[Metric, ...]:
    """Return the metrics that are defined for an attention kind."""
    return tuple(metric for metric in METRICS if kind in metric.kinds)


def head_metrics(trace: Trace, kind: Kind, scores: Sequence[float] | None) -> HeadMetrics:
    """Compute the metrics of all heads of one attention kind for one sentence.

    Args:
        trace: trace of a model run.
        kind: attention kind.
        scores: score of each token in the key vocabulary, by id; a lower score means a rarer token. See
            `Vocabulary.key_scores`. If None, metrics that need scores are left out.
    """
    by_name = dict(_query_metrics(trace, kind, scores))
    values, queries = {}, {}
    for metric in metrics_of(kind):
        if metric.name not in by_name:
            continue
        each, applies = by_name[metric.name]
        queries[metric.name] = int(applies.sum())
        values[metric.name] = each[..., applies].mean(axis=-1) if applies.any() else np.full(each.shape[:2], np.nan)
    return HeadMetrics(kind, values, queries)


def average(sentences: Iterable[HeadMetrics]) -> HeadMetrics:
    """Average metrics over sentences, weighting each sentence by its number of queries.

    Args:
        sentences: metrics of one model and one attention kind, one item per sentence.

    Raises:
        ValueError: `sentences` is empty or mixes attention kinds.
    """
    sentences = list(sentences)
    kinds = {metrics.kind for metrics in sentences}
    if len(kinds) != 1:
        raise ValueError(
            f"metrics of {len(kinds)} attention kinds cannot be averaged: pass metrics of exactly one kind"
        )
    values, queries = {}, {}
    for name, first in sentences[0].values.items():
        applied = [metrics for metrics in sentences if metrics.queries[name]]
        queries[name] = sum(metrics.queries[name] for metrics in applied)
        total = sum((metrics.values[name] * metrics.queries[name] for metrics in applied), np.zeros(first.shape))
        values[name] = total / queries[name] if applied else np.full(first.shape, np.nan)
    return HeadMetrics(sentences[0].kind, values, queries)


def is_punctuation(token: Token, text: str) -> bool:
    """Return whether a token covers only punctuation; `text` is the text that the token's span refers to."""
    covered = text[slice(*token.span)] if token.span is not None else ""
    return bool(covered) and all(unicodedata.category(character).startswith("P") for character in covered)


# (metric name, (value for each query [L, H, Q], mask of the queries to which the metric applies, bool [Q]))
NamedMetric = tuple[str, tuple[np.ndarray, np.ndarray]]


def _query_metrics(trace: Trace, kind: Kind, scores: Sequence[float] | None) -> Iterator[NamedMetric]:
    weights, mask = trace.attention(kind).astype(np.float64), trace.mask(kind)
    keys = trace.key_tokens(kind)
    special = np.array([token.special for token in keys])
    end = np.array([token.role == "end" for token in keys])
    every = np.ones(len(mask), dtype=bool)

    entropy = row_entropy(weights)
    yield "entropy", (entropy, every)
    yield "span", (np.exp(entropy), every)
    yield "confidence", (np.where(special, 0.0, weights).max(axis=-1), mask[:, ~special].sum(axis=1) > 0)
    yield "first", (weights[..., 0], every)
    yield "end", (weights[..., end].sum(axis=-1), every)

    # Heads attend to the first token and the end symbol when they have nothing to do (attention sinks). Attending to a
    # sink is no evidence of a pattern, so a query is left out if the pattern predicts a sink.
    sinks = special | (np.arange(len(keys)) == 0)
    strongest = weights.argmax(axis=-1)
    if scores is not None:
        words = np.flatnonzero(~special)
        rarity = np.array([scores[keys[position].id] for position in words])
        rarest = np.zeros(len(keys), dtype=bool)
        rarest[words[rarity == rarity.min(initial=np.inf)]] = True
        rarest &= ~sinks
        yield "strongest_rarest", (rarest[strongest], mask[:, rarest].sum(axis=1) > 0)
    text = trace.target_text if kind == "decoder" else trace.source_text
    marks = ~sinks & [is_punctuation(key, text) for key in keys]
    yield "punctuation", (weights[..., marks].sum(axis=-1), every & marks.any())
    if kind == "cross":
        yield from _alignment_metrics(trace)
    else:
        yield from _position_metrics(weights, mask, strongest, sinks)


def _position_metrics(
    weights: np.ndarray, mask: np.ndarray, strongest: np.ndarray, sinks: np.ndarray
) -> Iterator[NamedMetric]:
    """Yield the positional metrics of self-attention: previous, same and next token, and distance."""
    count = len(mask)
    rows = np.arange(count)
    for name, offset in OFFSETS.items():
        columns = np.clip(rows + offset, 0, count - 1)
        there = (columns == rows + offset) & mask[rows, columns]
        yield name, (weights[..., rows, columns], there)
        yield f"strongest_{name}", (strongest == columns, there & ~sinks[columns])
    yield "distance", ((weights * np.abs(rows[:, None] - rows)).sum(axis=-1), np.ones(count, dtype=bool))


def _alignment_metrics(trace: Trace) -> Iterator[NamedMetric]:
    agreed = consensus(trace)
    for name, shift in (("predicted", False), ("read", True)):
        # Keep the columns of special tokens: attending most to the end symbol must not count as an alignment.
        strongest = alignment_rows(trace, shift=shift).argmax(axis=-1)
        yield f"alignment_{name}", (strongest == agreed, agreed != 0)
