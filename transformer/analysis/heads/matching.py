"""Matches attention heads between two models, A and B, that read the same sentence.

Heads are numbered as in `head_distances`. The similarity of two heads is 1 - d / ln 2, where d is the mean
Jensen-Shannon divergence between corresponding rows. The similarity is 1 if all rows are equal, and 0 if corresponding
rows never attend to the same column.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from transformer.analysis.heads.similarity import head_distances
from transformer.analysis.view import scaled_rows, view_of
from transformer.analysis.words import Group
from transformer.values.tokens import Token
from transformer.values.trace import Kind, Trace

# Identifies the same token or word in both models. The first item is the character span relative to the text's end, or
# the role of a special token. The second is the number of earlier tokens with the same first item.
TokenKey = tuple[object, int]


def similarities(a: Trace, b: Trace, kind: Kind) -> np.ndarray:
    """Return the similarity between each head of model A and each head of model B, float64 [heads of A, heads of B].

    If both models tokenize the texts identically, tokens are compared. Otherwise, the words and special tokens that
    both models have are compared, with each row rescaled to sum to 1.

    Args:
        a, b: traces of two models that read the same text; a language code in front of the text may differ.
    """
    if a.query_tokens(kind) == b.query_tokens(kind) and a.key_tokens(kind) == b.key_tokens(kind):
        return 1 - head_distances(a.attention(kind), b.attention(kind)) / np.log(2)
    views = [view_of(trace, kind, words=True) for trace in (a, b)]
    rows = [
        _token_keys(view.axes.row_positions, trace.query_tokens(kind), view.axes.row_text)
        for view, trace in zip(views, (a, b), strict=True)
    ]
    columns = [
        _token_keys(view.axes.column_positions, trace.key_tokens(kind), view.axes.column_text)
        for view, trace in zip(views, (a, b), strict=True)
    ]
    both_rows, both_columns = ([key for key in first if key in second] for first, second in (rows, columns))
    weights = []
    for view, own_rows, own_columns in zip(views, rows, columns, strict=True):
        places = [own_rows.index(key) for key in both_rows], [own_columns.index(key) for key in both_columns]
        weights.append(scaled_rows(view.weights[:, :, places[0]][..., places[1]])[0])
    # Leave out rows in which some head has no weight on the shared columns.
    seen = np.logical_and(*(weight.sum(axis=-1).min(axis=(0, 1)) > 0 for weight in weights))
    return 1 - head_distances(*(weight[:, :, seen] for weight in weights)) / np.log(2)


def best_match(similarity: np.ndarray) -> np.ndarray:
    """Assign a head of model B to each head of model A, int [heads of A]; -1 for heads without a match.

    The assignment is one-to-one and maximises the total similarity (Kuhn 1955, "The Hungarian Method for the Assignment
    Problem").
    """
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    match = np.full(len(similarity), -1)
    match[rows] = columns
    return match


def shuffled_similarity(similarity: np.ndarray, match: np.ndarray, heads: int) -> np.ndarray:
    """Return each head's expected similarity to its match if model B's heads were shuffled within each layer.

    The shape is [..., heads of A]. The value is NaN for heads without a match.

    Args:
        similarity: similarity between heads, [..., heads of A, heads of B].
        match: result of `best_match`.
        heads: number of heads in each layer of B.
    """
    layers = similarity.reshape(*similarity.shape[:-1], -1, heads).mean(axis=-1)
    return _at_columns(layers, np.where(match < 0, -1, match // heads))


def matched_similarity(similarity: np.ndarray, match: np.ndarray) -> np.ndarray:
    """Return the similarity between each head of model A and its match, [..., heads of A]; NaN without a match."""
    return _at_columns(similarity, match)


def _at_columns(values: np.ndarray, columns: np.ndarray) -> np.ndarray:
    selected = values[..., np.arange(len(columns)), columns].astype(np.float64)
    selected[..., columns < 0] = np.nan
    return selected


def _token_keys(groups: Sequence[Group], tokens: Sequence[Token], text: str) -> list[TokenKey]:
    counts: Counter[object] = Counter()
    keys = []
    for group in groups:
        spans = [span for position in group if (span := tokens[position].span) is not None]
        what = (
            tokens[group[0]].role
            if not spans
            else (min(start for start, _ in spans) - len(text), max(end for _, end in spans) - len(text))
        )
        keys.append((what, counts[what]))
        counts[what] += 1
    return keys
