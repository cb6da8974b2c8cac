"""Word alignment from cross-attention, for a translation with S source tokens and N target tokens.

The decoder reads T = N + 1 tokens, because its input begins with the start symbol. It both predicts and reads the N
tokens, which are `trace.target_tokens[1:]`. All functions also work on words if the tokens have been merged by
`merge_words`.
"""

from collections.abc import Collection, Hashable

import numpy as np

from transformer.values.trace import Trace

# (target position, source position)
Link = tuple[int, int]


def alignment_rows(trace: Trace, *, shift: bool) -> np.ndarray:
    """Return the cross-attention row that aligns each target token, [L, H, N, S].

    Args:
        trace: trace of a translation.
        shift: whether to use the step that reads the token (Shift-Att) rather than the step that predicts it
            (Naive-Att). Source: Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation".
    """
    return trace.cross[:, :, 1:] if shift else trace.cross[:, :, :-1]


def hard_alignment(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Return the non-special source position with the largest weight in each row; ties go to the first position.

    Args:
        weights: attention from each decoding step to each source position, [..., N, S].
        special: bool [S], True for source tokens that cannot be aligned.

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
    """Align each target token with the source position that all heads and layers attend to most on average, int [N].

    Attention is read at the step that predicts the token. The result stands in for a human alignment, which does
    not exist for a sentence typed by a user. No single layer is chosen, because the best layer and step differ between
    models. By contrast, Chen et al. 2020 use only the third of six layers, with `shift`.
    """
    weights = alignment_rows(trace, shift=False).mean(axis=(0, 1))
    return hard_alignment(weights, special_columns(trace))


def special_columns(trace: Trace) -> np.ndarray:
    """Return a mask that is True for special source tokens, bool [S]."""
    return np.array([token.special for token in trace.source_tokens])


def coverage(weights: np.ndarray) -> np.ndarray:
    """Return the total attention on each source position, [..., N, S] to [..., S].

    The totals add up to N. A source token with a total far below 1 received hardly any attention; one with a total far
    above 1 received a lot. Source: Tu et al. 2016, "Modeling Coverage for Neural Machine Translation".
    """
    return weights.sum(axis=-2)


def special_share(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Return the fraction of each row's attention on special source tokens, [..., N, S] to [..., N].

    A fraction near 1 means that the decoding step needed little information from the source. Source: Ferrando and
    Costa-jussà 2021, "Attention Weights in Transformer NMT Fail Aligning Words Between Sequences but Largely Explain
    Model Predictions".
    """
    return weights[..., special].sum(axis=-1)


def links(alignment: np.ndarray) -> frozenset[Link]:
    """Convert an alignment, int [N], to a set of (target position, source position) pairs."""
    return frozenset((target, int(source)) for target, source in enumerate(alignment))


def alignment_error_rate(
    proposed: Collection[Hashable], sure: Collection[Hashable], possible: Collection[Hashable] = ()
) -> float:
    """Return the alignment error rate, 0 to 1, of a proposed alignment against a human reference.

    Source: Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models".

    Args:
        proposed: links A to evaluate.
        sure: reference links S that every correct alignment contains.
        possible: reference links that a correct alignment may contain. P is the union of S and these links.

    Returns:
        1 - (|A and S| + |A and P|) / (|A| + |S|).

    Raises:
        ValueError: `proposed` and `sure` are both empty.
    """
    proposed_links, sure = set(proposed), set(sure)
    if not proposed_links and not sure:
        raise ValueError("the alignment error rate is undefined without any proposed or sure links")
    allowed = sure | set(possible)
    return 1.0 - (len(proposed_links & sure) + len(proposed_links & allowed)) / (len(proposed_links) + len(sure))
