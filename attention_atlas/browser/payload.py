"""Encodes one attention kind as bytes for the browser: the weights of all heads, with labels and metrics."""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from attention_atlas.browser.labels import TITLES, column_labels, row_labels, titles
from attention_atlas.browser.token_labels import displayable
from attention_atlas.browser.wire import codes, pack
from transformer.analysis.heads.clearest_head import clearest_head
from transformer.analysis.heads.metrics import HeadMetrics, Metric, metrics_of
from transformer.analysis.heads.names import head_names
from transformer.analysis.view import Axes, axes_of
from transformer.values.trace import Kind, Trace

# Maximum number of times that a row's weights are doubled before they are sent. If start and end symbols are hidden,
# the browser scales up a row's other weights to sum to 1. The doubling keeps the scaled rounding errors small.
MAX_DOUBLINGS = 15
DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
# All arrangements of a map as (words, special): words or tokens, with or without special tokens.
EVERY_ARRANGEMENT = tuple((words, special) for words in (False, True) for special in (False, True))
# Default initial selection; the keys are the fields of `Choice` in assets/attention_browser/arrangement.js.
CHOICE: Mapping[str, Any] = MappingProxyType(
    {
        "layer": -1,
        "head": -1,
        "heads": (),
        "words": True,
        "hide": False,
        "scale": "0 to 1",
        "palette": "viridis",
        "look": "map",
        "threshold": 0,
        "metric": "",
        "rows": (),
        "columns": (),
    }
)
# Additional names of heads, by 0-based layer and head.
AlsoNamed = Mapping[tuple[int, int], Sequence[str]]


def doublings(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Return how many times each row's weights on ordinary tokens can be doubled before their sum exceeds 1.

    Args:
        weights: attention weights, [..., R, C].
        special: whether each column is a special token, bool [C].

    Returns:
        Number of doublings, uint8 [..., R], 0 to MAX_DOUBLINGS.
    """
    sums = np.maximum(weights[..., ~special].sum(axis=-1), 2.0**-MAX_DOUBLINGS)
    return np.maximum(np.floor(-np.log2(sums)), 0).astype(np.uint8)


def payload(
    trace: Trace, kind: Kind, header: Mapping[str, Any], arrangements: Iterable[tuple[bool, bool]] = EVERY_ARRANGEMENT
) -> bytes:
    """Return the message for one attention kind: a header that says how to draw it, and all weights as 16-bit codes.

    Args:
        trace: trace of a model run.
        kind: attention kind to encode.
        header: fields to add to the message's header.
        arrangements: arrangements that the user can choose from.
    """
    weights, mask = trace.attention(kind), trace.mask(kind)
    layers, heads, queries, keys = weights.shape
    special = np.array([token.special for token in trace.key_tokens(kind)])
    doubled = doublings(weights, special)
    sides = trace.query_tokens(kind), trace.key_tokens(kind)
    complete = {
        **header,
        "kind": kind,
        "layers": layers,
        "heads": heads,
        "queries": queries,
        "keys": keys,
        "arrangements": {
            ("words" if words else "tokens") + ("" if special else "-hidden"): _arrangement(
                axes_of(trace, kind, words=words, special=special)
            )
            for words, special in arrangements
        },
        "special": np.flatnonzero(special).tolist(),
        "doublings": DIGITS[doubled.ravel()].tobytes().decode("ascii"),
        "axes": {
            name: dict(zip(("from", "to"), titles(words, *sides), strict=True))
            for name, words in (("tokens", False), ("words", True))
        },
    }
    return pack(complete, codes(np.where(special, weights, np.ldexp(weights, doubled[..., None])), mask))


def browser_payload(
    trace: Trace,
    metrics: HeadMetrics,
    choice: Mapping[str, Any],
    *,
    number: int = 0,
    glance: bool = False,
    quiet: bool = False,
    beside: bool = False,
    also: AlsoNamed = MappingProxyType({}),
) -> bytes:
    """Return the message with everything that the browser needs to show one attention kind.

    Args:
        trace: trace to show.
        metrics: metrics of the heads; their kind is the attention kind to show.
        choice: initial selection, with a value for each name in CHOICE except `heads`; -1 for both layer and head
            selects the head that `clearest_head` chooses.
        number: number of the request. The browser applies `choice` only if it has not seen the number before.
        glance: whether to draw only the small maps.
        quiet: whether to describe only the cell under the pointer, not the pinned cell.
        beside: whether text is shown next to the attention browser, which then must not fill the screen.
        also: names of heads, in addition to those that the metrics give.
    """
    kind, opened = metrics.kind, dict(choice)
    if opened["layer"] < 0 and opened["head"] < 0:
        telling = clearest_head(trace, metrics)
        opened |= {"layer": telling.layer, "head": telling.head}
    # With `glance`, there is no toolbar, so the user cannot request another arrangement.
    only = [(choice["words"], not choice["hide"])] if glance else EVERY_ARRANGEMENT
    return payload(
        trace,
        kind,
        {
            "title": TITLES[kind],
            "glance": glance,
            "quiet": quiet,
            "beside": beside,
            "asked": {"number": number, "choice": opened},
            # "texts" contains the texts as typed, for exports; "shown" contains the texts for display.
            "id": sentence_id(trace),
            "texts": {"source": trace.source_text, "target": trace.target_text},
            "shown": {"source": displayable(trace.source_text), "target": displayable(trace.target_text)},
            "names": [
                ", ".join(dict.fromkeys((*names, *also.get((layer, head), ()))))
                for layer, heads in enumerate(head_names(metrics))
                for head, names in enumerate(heads)
            ],
            "metrics": []
            if glance
            else [
                _metric(metric, metrics.values[metric.name])
                for metric in metrics_of(kind)
                if metric.name in metrics.values
            ],
        },
        only,
    )


def sentence_id(trace: Trace) -> str:
    """Return an id for the trace's source and target text; the browser uses it to tell sentences apart."""
    return f"{zlib.crc32((trace.source_text + trace.target_text).encode('utf-8', 'surrogatepass')):08x}"


def _metric(metric: Metric, values: np.ndarray) -> dict[str, Any]:
    """Return a metric's values for all heads, and the value that fills the metric's bar completely. A head's value is
    None if the metric does not apply to it.
    """
    finite = values[~np.isnan(values)]
    return {
        "key": metric.name,
        "name": metric.title,
        "unit": metric.unit,
        "most": metric.high or max(float(finite.max(initial=0.0)), 1e-9),
        "values": [None if math.isnan(value) else value for value in values.round(6).ravel().tolist()],
    }


def _arrangement(axes: Axes) -> dict[str, Any]:
    sides = {"rows": (row_labels(axes), axes.row_positions), "columns": (column_labels(axes), axes.column_positions)}
    return {
        "scaled": not axes.special,
        **{
            side: [{"label": label, "positions": group} for label, group in zip(labels, groups, strict=True)]
            for side, (labels, groups) in sides.items()
        },
    }
