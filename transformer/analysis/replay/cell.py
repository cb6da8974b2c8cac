"""Recomputes one cell of an attention map, from query and key to the cell's contribution to the attention output."""

import math
from dataclasses import dataclass

import numpy as np

from transformer.backpropagation.softmax import exponentials
from transformer.model.encodings import NO_POSITIONS, RelativePositionArrays, relative_positions
from transformer.values.trace import Detail, Kind, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class Cell:
    """The attention weight of key j for query i in one head, step by step, and what the cell (i, j) adds to the output.

    Query, key, scores, weights, values and output are read from the trace. Everything else is recomputed from these and
    the model's weights, so sums match the trace only to float32 precision (1e-5). Arrays are float64.

    Letters: C columns (keys), K head width, D model width.

    Attributes:
        query: q_i, [K].
        key: k_j, [K].
        products: elementwise product of query and key, [K]; sums to the raw score.
        raw_score: dot product q_i . k_j.
        divisor: sqrt(K).
        bias: relative-position bias added to the score; 0 in models without such biases.
        score: raw score divided by the divisor, plus the bias.
        allowed: whether the mask lets i attend to j.
        scores: scores of row i before masking, [C].
        row_allowed: whether the mask lets i attend to each column, bool [C].
        masked_scores: scores, with minus infinity in masked columns, [C].
        exponentials: exp(masked score - largest masked score of the row), [C].
        weights: exponentials divided by their sum, [C].
        weight: weight of column j.
        values: value vector of every column, [C, K].
        weighted_values: each value vector times its weight, [C, K]; sums to the output.
        output: output of the head for row i, [K].
        term: what the cell (i, j) adds to the sub-layer's output, weight times v_j W^O_h, [D].
        head_term: what the whole row of this head adds, output times W^O_h, [D]. The sub-layer's output is the sum of
            all heads' terms, plus b^O.
    """

    query: np.ndarray
    key: np.ndarray
    products: np.ndarray
    raw_score: float
    divisor: float
    bias: float
    score: float
    allowed: bool
    scores: np.ndarray
    row_allowed: np.ndarray
    masked_scores: np.ndarray
    exponentials: np.ndarray
    weights: np.ndarray
    weight: float
    values: np.ndarray
    weighted_values: np.ndarray
    output: np.ndarray
    term: np.ndarray
    head_term: np.ndarray


def relative_of(trace: Trace, weights: Weights, kind: Kind) -> RelativePositionArrays:
    """Return the relative-position biases or rotation angles of an attention kind.

    Return `NO_POSITIONS` for cross-attention, for models without relative positions, and if the trace's interventions
    switch positions off.
    """
    acts = kind != "cross" and trace.interventions.positions
    return relative_positions(weights.config, len(trace.mask(kind))) if acts else NO_POSITIONS


def cell(trace: Trace, weights: Weights, kind: Kind, layer: int, head: int, row: int, column: int) -> Cell:
    """Replay the computation of one cell of an attention map.

    Args:
        trace: trace with details.
        weights: weights of the model that made the trace.
        kind: attention kind.
        layer, head, row, column: 0-based indices.
    """

    def detail(name: Detail) -> np.ndarray:
        return trace.detail(kind, name)[layer, head].astype(np.float64)

    query, key, values = detail("queries")[row], detail("keys")[column], detail("values")
    products = query * key
    scores, allowed = detail("scores")[row], trace.mask(kind)[row]
    row_weights = trace.attention(kind)[layer, head, row].astype(np.float64)
    projection = weights.attention(kind, layer).output[head]
    output = detail("outputs")[row]
    biases = relative_of(trace, weights, kind).biases
    return Cell(
        query=query,
        key=key,
        products=products,
        raw_score=float(products.sum()),
        divisor=math.sqrt(len(query)),
        bias=0.0 if biases is None else float(biases[head, row, column]),
        score=float(scores[column]),
        allowed=bool(allowed[column]),
        scores=scores,
        row_allowed=allowed,
        masked_scores=np.where(allowed, scores, -np.inf),
        exponentials=exponentials(scores, allowed),
        weights=row_weights,
        weight=float(row_weights[column]),
        values=values,
        weighted_values=row_weights[:, None] * values,
        output=output,
        term=row_weights[column] * (values[column] @ projection),
        head_term=output @ projection,
    )
