"""Claims about how attention computes its weights and outputs, and about word vectors before and after the encoder."""

import math

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.backpropagation.softmax import softmax
from transformer.errors import LessonError
from transformer.lessons.claims.heads import ROUNDING
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.document import quoted
from transformer.lessons.evidence import Evidence
from transformer.values.interventions import Interventions
from transformer.values.trace import Kind

# Number of vector components to show.
FIRST_NUMBERS = 5


@claim("first", "second", "scaled_first", "scaled_second", "root", "unscaled", "naive")
def softmax_of_two(evidence: Evidence, score: float, other: float, width: int) -> Finding:
    """Softmax over two scores, each divided by the square root of the head width, gives two weights that sum to 1."""
    if width < 1:
        raise LessonError(f"the width of a head must be at least 1, not {width}")
    scores, root = np.array([score, other], dtype=np.float64), math.sqrt(width)
    first, second = (float(weight) for weight in softmax(scores / root))
    return finding(
        abs(first + second - 1) < ROUNDING,
        first=first,
        second=second,
        scaled_first=score / root,
        scaled_second=other / root,
        root=root,
        unscaled=float(softmax(scores)[0]),
        naive=score / (score + other) if score + other else 0.5,
    )


@claim("product", "root", "width", "score", "weight", "deviation", "layer", "head")
def cell_recomputed(evidence: Evidence, kind: Kind, head: str, row: str, column: str) -> Finding:
    """A row's weights are the softmax of its scores: query times key, divided by the square root of the head width."""
    layer, number, row_at = evidence.at_row(kind, head, row)
    column_at = evidence.view(kind).axes.column_positions[evidence.column(kind, column)][0]
    trace = evidence.trace(details=True)
    queries, keys = (trace.detail(kind, part)[layer, number].astype(np.float64) for part in ("queries", "keys"))
    products = keys @ queries[row_at]
    root = math.sqrt(queries.shape[-1])
    weights = softmax(products / root, trace.mask(kind)[row_at])
    deviation = float(np.abs(weights - trace.attention(kind)[layer, number, row_at]).max())
    return finding(
        deviation < ROUNDING,
        product=float(products[column_at]),
        root=root,
        width=queries.shape[-1],
        score=float(products[column_at]) / root,
        weight=float(weights[column_at]),
        deviation=deviation,
        layer=layer + 1,
        head=number + 1,
    )


@claim("count", "width", "deviation")
def value_sum(evidence: Evidence, kind: Kind, head: str, row: str) -> Finding:
    """A head's output is the sum of all value vectors, each multiplied by its attention weight."""
    layer, number, row_at = evidence.at_row(kind, head, row)
    trace = evidence.trace(details=True)
    values = trace.detail(kind, "values")[layer, number].astype(np.float64)
    summed = trace.attention(kind)[layer, number, row_at] @ values
    deviation = float(np.abs(summed - trace.detail(kind, "outputs")[layer, number, row_at]).max())
    return finding(deviation < ROUNDING, count=len(values), width=values.shape[-1], deviation=deviation)


@claim("before", "after", "difference", "hidden", "alone")
def context(evidence: Evidence, word: str, other: str, hide: str = "", hide_other: str = "") -> Finding:
    """A word at the same position in two sentences has the same vector before the encoder, but not after it.

    If no word can look at another, the word's two vectors are the same after the encoder too.

    Args:
        word: a word at the same position in both sentences.
        other: the other sentence.
        hide, hide_other: word to hide in the lesson's sentence, and word to hide in `other`, for an additional
            measurement; empty to hide none.
    """
    before, after, *hidden, alone = context_stages(evidence, word, other, hide, hide_other).values()
    return finding(
        before > 1 - ROUNDING and after < 0.95 and alone > 1 - ROUNDING,
        before=before,
        after=after,
        difference=before - after,
        hidden=hidden[0] if hidden else after,
        alone=alone,
    )


def context_stages(evidence: Evidence, word: str, other: str, hide: str, hide_other: str) -> dict[str, float]:
    """Return the cosine similarity between a word's vectors in two sentences, at each stage of the computation.

    The first two stages are before and after the encoder. If `hide` or `hide_other` is given, the next stage is after
    the encoder with these words hidden. The last stage is after the encoder with every word hidden from all others.
    """
    sentences = evidence, evidence.for_sentence(other)

    def alike(stage: int, *hidden: tuple[int, ...]) -> float:
        return _cosine(
            *(
                _vector(sentence, word, stage, positions)
                for sentence, positions in zip(sentences, hidden or ((), ()), strict=True)
            )
        )

    stages = {"before the encoder": alike(0), "after the encoder": alike(-1)}
    if hidden_names := [each for each in (hide, hide_other) if each]:
        stages[f"{' and '.join(f'“{name}”' for name in hidden_names)} hidden"] = alike(
            -1,
            *(
                _positions(sentence, each) if each else ()
                for sentence, each in zip(sentences, (hide, hide_other), strict=True)
            ),
        )
    stages["each word alone"] = alike(
        -1, *(tuple(range(len(sentence.trace().source_tokens))) for sentence in sentences)
    )
    return stages


def first_numbers(evidence: Evidence, word: str, other: str) -> tuple[list[np.ndarray], float]:
    """Compare the vectors with which a word enters the encoder in two sentences.

    Returns:
        The first components of each vector, and the vectors' cosine similarity.
    """
    vectors = [_vector(sentence, word, 0) for sentence in (evidence, evidence.for_sentence(other))]
    return [vector[:FIRST_NUMBERS] for vector in vectors], _cosine(*vectors)


def _vector(evidence: Evidence, word: str, stage: int, hidden: tuple[int, ...] = ()) -> np.ndarray:
    """Return a word's encoder vector, averaged over the word's tokens; `stage` indexes the residual stream."""
    trace = evidence.trace(details=True, interventions=Interventions(hidden_source=hidden))
    stream = trace.residual_stream("encoder")[stage].astype(np.float64)
    return stream[list(_positions(evidence, word))].mean(axis=0)


def _positions(evidence: Evidence, word: str) -> tuple[int, ...]:
    return evidence.view("encoder").axes.row_positions[evidence.row("encoder", word, (0, 0))]


@claim("weight", "norm", "layer", "head")
def weight_against_norm(evidence: Evidence, kind: Kind, job: str) -> Finding:
    """The head that looks most at a special token reads less from it than the attention weight suggests.

    The amount read is measured by norms, as in Kobayashi et al. 2020: the length of the vector that the token adds to
    the output, divided by the sum of the lengths of all such vectors.
    """
    if job not in ("end", "start"):
        raise LessonError(f"the job must be 'end' or 'start', not {quoted(job)}")
    layer, head = evidence.head(kind, job)
    norms = contributions(evidence.trace(details=True), evidence.runs.weights(), kind, layer).head_norms()[head]
    weights = evidence.trace().attention(kind)[layer, head]
    column = -1 if job == "end" else 0
    weight = float(weights[:, column].mean())
    norm = float((norms[:, column] / norms.sum(axis=-1)).mean())
    return finding(norm < weight - 0.02, weight=weight, norm=norm, layer=layer + 1, head=head + 1)


@claim("share", "rows")
def largest_is_not_longest(evidence: Evidence, kind: Kind) -> Finding:
    """In over 5% of rows, the position with the largest weight is not the position that adds the longest vector."""
    shares = longest_elsewhere(evidence, kind)
    share, rows = float(shares.mean()), evidence.trace().mask(kind).shape[0]
    return finding(share > 0.05, share=share, rows=shares.size * rows)


def longest_elsewhere(evidence: Evidence, kind: Kind) -> np.ndarray:
    """Return the fraction of each head's rows whose longest vector is not from the most-attended position, [L, H]."""
    trace, weights = evidence.trace(details=True), evidence.runs.weights()
    attention = trace.attention(kind)
    norms = [contributions(trace, weights, kind, layer).head_norms() for layer in range(attention.shape[0])]
    return np.stack(
        [
            (each.argmax(axis=-1) != seen.argmax(axis=-1)).mean(axis=-1)
            for each, seen in zip(norms, attention, strict=True)
        ]
    )


def _cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))
