"""Scores every head on task items, for a chart next to the loss; does not need torch.

Letters: N items, L layers, H heads, T target tokens, S source tokens; the last of each is the end symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from transformer.analysis.heads.pattern import row_entropy
from transformer.values.kinds import KINDS, Kind

# A short description of each score.
SCORES = {
    "diagonal": "attention on the place that is as far from the beginning",
    "mirror": "attention on the place that is as far from the end as the query is from the beginning",
    "prefix_match": "attention on what followed the query's symbol elsewhere",
    "entropy": "how spread a query's attention is, nats",
}


def head_scores(
    attention: Mapping[Kind, np.ndarray], source: np.ndarray, target: np.ndarray, lengths: Sequence[tuple[int, int]]
) -> dict[str, dict[Kind, np.ndarray]]:
    """Return the scores of every head, each as the mean over all queries that the score applies to.

    Row t of masked attention and cross-attention reads target token t and predicts the next, so its position in the
    answer is t. Positions do not count start and end symbols.

    Args:
        attention: weights by kind of attention, [N, L, H, rows, columns].
        source: ids that the encoder reads, [N, S].
        target: ids that the decoder reads, start symbol first, [N, T].
        lengths: numbers of tokens in the source and in the answer of each item, without end symbols.

    Returns:
        Scores by name and kind, float64 [L, H]; NaN if a score applies to no query.
    """
    measures: dict[str, Callable[[Kind, int, int], list[tuple[int, int]]]] = {
        "diagonal": lambda kind, rows, columns: [(row, row) for row in range(min(rows, columns))],
        "mirror": lambda kind, rows, columns: (
            [] if kind == "decoder" else [(row, columns - 1 - row) for row in range(min(rows, columns))]
        ),
    }
    scores: dict[str, dict[Kind, np.ndarray]] = {}
    for name, cells in measures.items():
        scores[name] = {}
        for kind in KINDS:
            each = [
                attention[kind][item, :, :, row, column]
                for item, (sources, targets) in enumerate(lengths)
                for row, column in cells(kind, *sides(kind, sources, targets))
            ]
            scores[name][kind] = mean(each, attention[kind])
    scores["prefix_match"] = {
        kind: mean(prefix_matches(kind, attention[kind], source, target, lengths), attention[kind]) for kind in KINDS
    }
    scores["entropy"] = {
        kind: mean(
            [
                row_entropy(weights[:, :, : sides(kind, *length)[0] + 1]).mean(axis=-1)
                for weights, length in zip(attention[kind].astype(np.float64), lengths, strict=True)
            ],
            attention[kind],
        )
        for kind in KINDS
    }
    return scores


def sides(kind: Kind, source: int, target: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of a kind of attention, without the end symbol."""
    return (source if kind == "encoder" else target), (target if kind == "decoder" else source)


def prefix_matches(
    kind: Kind, weights: np.ndarray, source: np.ndarray, target: np.ndarray, lengths: Sequence[tuple[int, int]]
) -> list[np.ndarray]:
    """Return each query's attention to tokens that follow its own symbol (prefix matching score, Olsson et al. 2022).

    Masked attention looks for the query's symbol earlier in the written text, and cross-attention looks in the source.
    The encoder looks in the source, except at the query's own position. A query is left out if its symbol occurs
    nowhere else.

    Returns:
        One array [L, H] for each query.
    """
    matches = []
    for item, (sources, targets) in enumerate(lengths):
        rows, columns = sides(kind, sources, targets)
        queries = (source if kind == "encoder" else target)[item]
        keys = (target if kind == "decoder" else source)[item]
        for row in range(rows):
            last = row + 1 if kind == "decoder" else columns
            places = [
                column
                for column in range(1, last)
                if keys[column - 1] == queries[row] and (kind == "cross" or column - 1 != row)
            ]
            if places:
                matches.append(weights[item][:, :, row, places].sum(axis=-1))
    return matches


def mean(each: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return the mean of arrays [L, H], or NaN if there are none; `weights` gives the shape."""
    return np.stack(each).mean(axis=0, dtype=np.float64) if each else np.full(weights.shape[1:3], np.nan)
