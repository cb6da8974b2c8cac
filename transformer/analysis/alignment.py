"""Aligns target tokens with source tokens by cross-attention.

N = T - 1 is the number of target tokens that are both predicted and read, without the start symbol:
`trace.target_pieces[1:]`. All functions also accept words instead of tokens, after `merge_words` has merged them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

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
    """The source position that each row looks at most, without special tokens; the first one on a tie.

    Args:
        weights: [..., N, S].
        special: bool [S], True = not a token to align with.

    Returns:
        int [..., N].

    Raises:
        ValueError: every source position is special.
    """
    if special.all():
        raise ValueError(
            f"all {special.size} source positions are special symbols: give a sentence with at least one word"
        )
    return np.where(special, -1.0, weights).argmax(axis=-1)


def consensus(trace: Trace) -> np.ndarray:
    """The alignment of the mean of all heads of all layers, int [N], at the step that predicts the token.

    It replaces a human alignment, which a typed sentence does not have. It uses all heads, because the best layer and
    the best step differ between models. Chen et al. use the third of six layers with `shift`.
    """
    weights = alignment_rows(trace, shift=False).mean(axis=(0, 1))
    return hard_alignment(weights, special_columns(trace))


def special_columns(trace: Trace) -> np.ndarray:
    """Mask of the special source tokens, bool [S]."""
    return np.array([piece.special for piece in trace.source_pieces])


def coverage(weights: np.ndarray) -> np.ndarray:
    """Total attention that each source position received, [..., N, S] to [..., S].

    The sum is N. A source token far below 1 got hardly any attention, and one far above 1 got a lot (Tu et al. 2016,
    "Modeling Coverage for Neural Machine Translation").
    """
    return weights.sum(axis=-2)


def special_share(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Share of each row on special tokens, which for a source is the end symbol: [..., N, S] to [..., N].

    A large share means that the step needed little of the source. Source: Ferrando and Costa-jussà 2021, "Attention
    Weights in Transformer NMT Fail Aligning Words Between Sequences but Largely Explain Model Predictions".
    """
    return weights[..., special].sum(axis=-1)


def links(alignment: np.ndarray) -> frozenset[Link]:
    """An alignment, int [N], as pairs of target and source position."""
    return frozenset((target, int(source)) for target, source in enumerate(alignment))


def alignment_error_rate(
    proposed: Collection[Hashable], sure: Collection[Hashable], possible: Collection[Hashable] = ()
) -> float:
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
