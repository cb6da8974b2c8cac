"""Claims about how a weight is computed, and what it brings."""

from __future__ import annotations

import math

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.softmax import softmax
from transformer.errors import LessonError
from transformer.lessons.claims.heads import ROUNDING
from transformer.lessons.claims.registry import Finding, claim
from transformer.lessons.document import quoted
from transformer.lessons.evidence import Evidence
from transformer.values.trace import Kind


@claim("first", "second", "scaled_first", "scaled_second", "root", "unscaled", "naive")
def softmax_of_two(evidence: Evidence, score: float, other: float, width: int) -> Finding:
    """Two scores, divided by the root of the head's width, give these weights; the sum is 1."""
    if width < 1:
        raise LessonError(f"the width of a head is at least 1, not {width}")
    scores, root = np.array([score, other], dtype=np.float64), math.sqrt(width)
    first, second = (float(weight) for weight in softmax(scores / root))
    return Finding(abs(first + second - 1) < ROUNDING, {
        "first": first, "second": second, "scaled_first": score / root, "scaled_second": other / root, "root": root,
        "unscaled": float(softmax(scores)[0]), "naive": score / (score + other) if score + other else 0.5,
    })


@claim("product", "root", "width", "score", "weight", "deviation", "layer", "head")
def cell_recomputed(evidence: Evidence, kind: Kind, head: str, row: str, column: str) -> Finding:
    """The weight of a cell is query times key, over the root of the width, through the softmax of its row."""
    (layer, number), row_at, column_at = _cell(evidence, kind, head, row, column)
    trace = evidence.trace(details=True)
    queries, keys = (trace.detail(kind, part)[layer, number].astype(np.float64) for part in ("queries", "keys"))
    products = keys @ queries[row_at]
    root = math.sqrt(queries.shape[-1])
    weights = softmax(products / root, trace.mask(kind)[row_at])
    deviation = float(np.abs(weights - trace.attention(kind)[layer, number, row_at]).max())
    return Finding(deviation < ROUNDING, {
        "product": float(products[column_at]), "root": root, "width": queries.shape[-1],
        "score": float(products[column_at]) / root, "weight": float(weights[column_at]), "deviation": deviation,
        "layer": layer + 1, "head": number + 1,
    })


@claim("count", "width", "deviation")
def value_sum(evidence: Evidence, kind: Kind, head: str, row: str) -> Finding:
    """What a head hands on is the sum of all values, each times its weight."""
    layer, number = at = evidence.head(kind, head)
    row_at = _first_piece(evidence.view(kind).axes.row_positions[evidence.row(kind, row, at)])
    trace = evidence.trace(details=True)
    values = trace.detail(kind, "values")[layer, number].astype(np.float64)
    summed = trace.attention(kind)[layer, number, row_at] @ values
    deviation = float(np.abs(summed - trace.detail(kind, "outputs")[layer, number, row_at]).max())
    return Finding(deviation < ROUNDING, {"count": len(values), "width": values.shape[-1], "deviation": deviation})


@claim("before", "after", "difference")
def context(evidence: Evidence, word: str, other: str) -> Finding:
    """A word at the same place of two sentences has the same vector before the encoder, and another one after it."""
    vectors = []
    for sentence in (evidence, evidence.of(other)):
        positions = sentence.view("encoder").axes.row_positions[sentence.row("encoder", word, (0, 0))]
        stream = sentence.trace(details=True).residual_stream("encoder").astype(np.float64)
        vectors.append(stream[[0, -1]][:, list(positions)].mean(axis=1))
    before, after = (_cosine(first, second) for first, second in zip(*vectors, strict=True))
    return Finding(before > 1 - ROUNDING and after < 0.95, {
        "before": before, "after": after, "difference": before - after,
    })


@claim("weight", "norm", "layer", "head")
def weight_against_norm(evidence: Evidence, kind: Kind, job: str) -> Finding:
    """The head that looks most at a special place brings far less from there than its weight says.

    Norms as in Kobayashi et al. 2020: weight times the length of the vector that is added.
    """
    if job not in ("end", "start"):
        raise LessonError(f"the job must be 'end' or 'start', not {quoted(job)}")
    layer, head = evidence.head(kind, job)
    norms = contributions(evidence.trace(details=True), evidence.runs.weights(), kind, layer).head_norms()[head]
    weights = evidence.trace().attention(kind)[layer, head]
    column = -1 if job == "end" else 0
    weight = float(weights[:, column].mean())
    norm = float((norms[:, column] / norms.sum(axis=-1)).mean())
    return Finding(norm < weight - 0.02, {"weight": weight, "norm": norm, "layer": layer + 1, "head": head + 1})


@claim("share", "rows")
def largest_is_not_longest(evidence: Evidence, kind: Kind) -> Finding:
    """In a good part of all rows, the place with the largest weight is not the one that adds the longest vector."""
    trace, weights = evidence.trace(details=True), evidence.runs.weights()
    differ = []
    for layer in range(trace.attention(kind).shape[0]):
        norms = contributions(trace, weights, kind, layer).head_norms()
        differ.append(norms.argmax(axis=-1) != trace.attention(kind)[layer].argmax(axis=-1))
    share = float(np.mean(differ))
    return Finding(share > 0.05, {"share": share, "rows": int(np.size(differ))})


def _cell(evidence: Evidence, kind: Kind, head: str, row: str, column: str) -> tuple[tuple[int, int], int, int]:
    """Head, and the positions of the first pieces of two words."""
    at = evidence.head(kind, head)
    axes = evidence.view(kind).axes
    row_at = _first_piece(axes.row_positions[evidence.row(kind, row, at)])
    return at, row_at, _first_piece(axes.column_positions[evidence.column(kind, column)])


def _first_piece(positions: tuple[int, ...]) -> int:
    return positions[0]


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
