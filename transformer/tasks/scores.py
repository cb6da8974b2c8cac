"""Scores of every head on the items of a task, which are drawn beside the loss; needs no torch.

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
    """The scores of every head, each the mean over all queries of all items that it applies to.

    Row t of masked and cross-attention reads target token t and predicts the next, so its position in the answer is t.
    Positions are compared without start and end symbol.

    Args:
        attention: weights by kind, [N, L, H, rows, columns].
        source: ids [N, S] that the encoder reads.
        target: ids [N, T] that the decoder reads, the start symbol first.
        lengths: tokens of each item's source and answer, without the end symbol.

    Returns:
        The scores by name and kind, float64 [L, H]; NaN if a score applies to no query.
    """
    measures: dict[str, Callable[[Kind, int, int], list[tuple[int, int]]]] = {
        "diagonal": lambda kind, rows, columns: [(row, row) for row in range(min(rows, columns))],
        "mirror": lambda kind, rows, columns: (
            [] if kind == "decoder" else [(row, columns - 1 - row) for row in range(min(rows, columns))]
        ),
    }
    found: dict[str, dict[Kind, np.ndarray]] = {}
    for name, cells in measures.items():
        found[name] = {}
        for kind in KINDS:
            each = [
                attention[kind][item, :, :, row, column]
                for item, (sources, targets) in enumerate(lengths)
                for row, column in cells(kind, *sides(kind, sources, targets))
            ]
            found[name][kind] = mean(each, attention[kind])
    found["prefix_match"] = {
        kind: mean(prefix_matches(kind, attention[kind], source, target, lengths), attention[kind]) for kind in KINDS
    }
    found["entropy"] = {
        kind: mean(
            [
                row_entropy(weights[:, :, : sides(kind, *length)[0] + 1]).mean(axis=-1)
                for weights, length in zip(attention[kind].astype(np.float64), lengths, strict=True)
            ],
            attention[kind],
        )
        for kind in KINDS
    }
    return found


def sides(kind: Kind, source: int, target: int) -> tuple[int, int]:
    """Number of rows and columns that a kind has, without the end symbol."""
    return (source if kind == "encoder" else target), (target if kind == "decoder" else source)


def prefix_matches(
    kind: Kind, weights: np.ndarray, source: np.ndarray, target: np.ndarray, lengths: Sequence[tuple[int, int]]
) -> list[np.ndarray]:
    """The attention of each query to the tokens after its own symbol (Olsson et al. 2022, prefix matching score).

    Masked attention searches for its symbol earlier in the written text, and cross-attention in the source. The encoder
    searches in the source, except at the query's own position. A query whose symbol is nowhere else is left out.
    """
    found = []
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
                found.append(weights[item][:, :, row, places].sum(axis=-1))
    return found


def mean(each: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """The mean of arrays [L, H], or NaN if there are none."""
    return np.stack(each).mean(axis=0, dtype=np.float64) if each else np.full(weights.shape[1:3], np.nan)
