"""Aligns target tokens with source tokens by cross-attention.

N = T - 1 is the number of target tokens that are both predicted and read, the start symbol not among them:
`trace.target_pieces[1:]`. All functions take words instead of tokens as well, once `merge_words` has merged them.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from transformer.values.trace import Trace

# Target position, source position.
Link = tuple[int, int]


def alignment_rows(trace: Trace, *, shift: bool) -> np.ndarray:
    """The row of cross-attention that stands for each target token, [L, H, N, S].

    Args:
        trace: of a run.
        shift: take the step that reads the token (Chen et al. 2020, "Accurate Word Alignment Induction from Neural
            Machine Translation", Shift-Att) instead of the step that predicts it (Naive-Att).
    """
    return trace.cross[:, :, 1:] if shift else trace.cross[:, :, :-1]


def hard_alignment(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """The source position that each row looks at most, special tokens left out; the first of equals.

    Args:
        weights: [..., N, S].
        special: bool [S], True = nothing to align with.

    Returns:
        int [..., N].

    Raises:
        ValueError: every source position is special.
    """
    if special.all():
        raise ValueError(f"all {special.size} source positions are special: there is nothing to align with")
    return np.where(special, -1.0, weights).argmax(axis=-1)


def consensus(trace: Trace) -> np.ndarray:
    """The alignment of the mean of all heads of all layers, int [N], at the step that predicts the token.

    It stands in for a human alignment, which a typed sentence does not have. All heads, because it differs
    between models which layer aligns best, and at which step: Chen et al. read the third of six layers with `shift`.
    """
    weights = alignment_rows(trace, shift=False).mean(axis=(0, 1))
    return hard_alignment(weights, special_columns(trace))


def special_columns(trace: Trace) -> np.ndarray:
    """Mask of the special source tokens, bool [S]."""
    return np.array([piece.special for piece in trace.source_pieces])


def coverage(weights: np.ndarray) -> np.ndarray:
    """How much attention each source position got in all, [..., N, S] to [..., S].

    Their sum is N. A source token far below 1 got hardly any attention, one far above 1 a lot (Tu et al. 2016,
    "Modeling Coverage for Neural Machine Translation").
    """
    return weights.sum(axis=-2)


def special_share(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Share of each row on special tokens, which for a source is the end symbol: [..., N, S] to [..., N].

    A large one says that the step needed little of the source (Ferrando and Costa-jussà 2021, "Attention Weights in
    Transformer NMT Fail Aligning Words Between Sequences but Largely Explain Model Predictions").
    """
    return weights[..., special].sum(axis=-1)


def links(alignment: np.ndarray) -> frozenset[Link]:
    """An alignment, int [N], as pairs of target and source position."""
    return frozenset((target, int(source)) for target, source in enumerate(alignment))


def alignment_error_rate(proposed: Collection[Link], sure: Collection[Link], possible: Collection[Link] = ()) -> float:
    """AER, 0 to 1, of an alignment against a human one (Och and Ney 2003, "A Systematic Comparison of
    Various Statistical Alignment Models").

    Args:
        proposed: the links A to judge.
        sure: links S that must be there.
        possible: links that may be there; with the sure ones they are P.

    Returns:
        1 - (|A and S| + |A and P|) / (|A| + |S|).

    Raises:
        ValueError: neither `proposed` nor `sure` has a link.
    """
    own, sure = set(proposed), set(sure)
    if not own and not sure:
        raise ValueError("the error rate of no links against no sure links is not defined")
    allowed = sure | set(possible)
    return 1.0 - (len(own & sure) + len(own & allowed)) / (len(own) + len(sure))
