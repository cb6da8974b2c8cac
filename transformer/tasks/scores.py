"""Scores every head on task items, without torch.

Dimensions: N items, L layers, H heads, S source tokens, T target tokens. S and T include the start or end symbol and
padding.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from transformer.analysis.heads.pattern import row_entropy
from transformer.values.kinds import KINDS, Kind

# Score names, and what each score measures.
SCORES = {
    "diagonal": "attention to the position that is as far from the beginning as the query",
    "mirror": "attention to the position that is as far from the end as the query is from the beginning",
    "prefix_match": "attention to tokens that follow other occurrences of the query's symbol",
    "entropy": "how spread out a query's attention is, in nats",
}


def head_scores(
    attention: Mapping[Kind, np.ndarray], source: np.ndarray, target: np.ndarray, lengths: Sequence[tuple[int, int]]
) -> dict[str, dict[Kind, np.ndarray]]:
    """Return each head's scores; each score is the mean over all queries to which it applies.

    In masked attention and cross-attention, row t reads decoder input t and predicts answer token t. The row therefore
    has position t in the answer. Start and end symbols do not count as positions.

    Args:
        attention: attention weights by attention kind, [N, L, H, rows, columns].
        source: encoder input ids, [N, S].
        target: decoder input ids, start symbol first, [N, T].
        lengths: each item's numbers of source and answer tokens, without end symbols.

    Returns:
        Scores by score name and attention kind, float64 [L, H]; NaN if no query qualifies.
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
    """Return the numbers of rows and columns in an attention map, not counting end symbols."""
    return (source if kind == "encoder" else target), (target if kind == "decoder" else source)


def prefix_matches(
    kind: Kind, weights: np.ndarray, source: np.ndarray, target: np.ndarray, lengths: Sequence[tuple[int, int]]
) -> list[np.ndarray]:
    """Return each query's attention to tokens that follow other occurrences of the query's symbol.

    The result is the prefix matching score (Olsson et al. 2022). Masked attention considers only occurrences in the
    text written so far. Cross-attention and encoder attention consider all occurrences in the source; encoder attention
    leaves out the query's own position. Queries whose symbol occurs nowhere else are skipped.

    Returns:
        One array [L, H] per query.
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
    """Return the mean of arrays [L, H]; if there are none, return NaNs, [L, H], with L and H as in `weights`."""
    return np.stack(each).mean(axis=0, dtype=np.float64) if each else np.full(weights.shape[1:3], np.nan)
