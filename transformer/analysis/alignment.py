"""Aligns target tokens with source tokens by cross-attention.

N = T - 1 is the number of target tokens that the decoder both predicts and reads, `trace.target_tokens[1:]`. The start
symbol is not among them. All functions also accept words instead of tokens, once `merge_words` has merged the tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

import numpy as np

from transformer.values.trace import Trace

# A (target position, source position) pair.
Link = tuple[int, int]


def alignment_rows(trace: Trace, *, shift: bool) -> np.ndarray:
    """Return the cross-attention row that aligns each target token, [L, H, N, S].

    Args:
        trace: trace of a translation.
        shift: whether to take the step that reads the token (Shift-Att) instead of the step that predicts it
            (Naive-Att). Source: Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation".
    """
    return trace.cross[:, :, 1:] if shift else trace.cross[:, :, :-1]


def hard_alignment(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Return the source position with the largest weight in each row, ignoring special tokens; on a tie, the first.

    Args:
        weights: attention of each step to each source position, [..., N, S].
        special: bool [S], True for tokens that cannot be aligned.

    Returns:
        Source positions, int [..., N].

    Raises:
        ValueError: every source position is special.
    """
    if special.all():
        raise ValueError(
            f"all {special.size} source positions are special symbols: give a sentence with at least one word"
        )
    return np.where(special, -1.0, weights).argmax(axis=-1)


def consensus(trace: Trace) -> np.ndarray:
    """Return the source position with the largest attention for each target token, int [N]: the mean over all heads
    and layers, at the step that predicts the token.

    The result replaces a human alignment, which does not exist for a sentence that a user typed. All heads are used
    because the best layer and the best step differ between models. Chen et al. use the third of six layers with
    `shift`.
    """
    weights = alignment_rows(trace, shift=False).mean(axis=(0, 1))
    return hard_alignment(weights, special_columns(trace))


def special_columns(trace: Trace) -> np.ndarray:
    """Return a mask of the special source tokens, bool [S]."""
    return np.array([token.special for token in trace.source_tokens])


def coverage(weights: np.ndarray) -> np.ndarray:
    """Sum the attention that each source position receives over all N steps, [..., N, S] to [..., S].

    The sums add up to N. A sum far below 1 means that the source token received hardly any attention, and a sum far
    above 1 that it received a lot. Source: Tu et al. 2016, "Modeling Coverage for Neural Machine Translation".
    """
    return weights.sum(axis=-2)


def special_share(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Return the fraction of each row on special source tokens (the end symbol): [..., N, S] to [..., N].

    A fraction near 1 means that the step needed little information from the source. Source: Ferrando and Costa-jussà
    2021, "Attention Weights in Transformer NMT Fail Aligning Words Between Sequences but Largely Explain Model
    Predictions".
    """
    return weights[..., special].sum(axis=-1)


def links(alignment: np.ndarray) -> frozenset[Link]:
    """Convert an alignment, int [N], to (target position, source position) pairs."""
    return frozenset((target, int(source)) for target, source in enumerate(alignment))


def alignment_error_rate(
    proposed: Collection[Hashable], sure: Collection[Hashable], possible: Collection[Hashable] = ()
) -> float:
    """Return the alignment error rate, 0 to 1, of a proposed alignment compared with a human one.

    Source: Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models".

    Args:
        proposed: links A to evaluate.
        sure: links S that every correct alignment contains.
        possible: links that a correct alignment may contain; P is the union of these links and S.

    Returns:
        1 - (|A and S| + |A and P|) / (|A| + |S|).

    Raises:
        ValueError: neither `proposed` nor `sure` has a link.
    """
    proposed_links, sure = set(proposed), set(sure)
    if not proposed_links and not sure:
        raise ValueError("the error rate of no links against no sure links is not defined")
    allowed = sure | set(possible)
    return 1.0 - (len(proposed_links & sure) + len(proposed_links & allowed)) / (len(proposed_links) + len(sure))
