"""Claims about attention maps: their rows, and what individual heads do."""

import numpy as np

from transformer.errors import LessonError
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.evidence import JOBS, Evidence, column_names, row_names
from transformer.values.trace import KINDS, Kind

# Tolerance for float32 rounding errors, for example when a row's weights should sum to 1.
ROUNDING = 1e-4


@claim("count", "kinds", "layers", "heads")
def head_count(evidence: Evidence) -> Finding:
    """The number of heads is layers times heads per layer, times three for the three kinds of attention."""
    shapes = [evidence.trace().attention(kind).shape[:2] for kind in KINDS]
    count = sum(layers * heads for layers, heads in shapes)
    layers, heads = shapes[0]
    return finding(shapes.count(shapes[0]) == len(KINDS), count=count, kinds=len(KINDS), layers=layers, heads=heads)


@claim("sum", "count", "layer", "head")
def row_sum(evidence: Evidence, kind: Kind, head: str, row: str) -> Finding:
    """The attention weights in a row sum to 1."""
    at = evidence.head(kind, head)
    weights = evidence.view(kind).weights[*at, evidence.row(kind, row, at)]
    total = float(weights.sum())
    return finding(abs(total - 1) < ROUNDING, sum=total, count=len(weights), **_numbers(at))


@claim("word", "weight", "second", "second_weight", "third", "even", "times", "count", "row_word", "layer", "head")
def row_maximum(evidence: Evidence, kind: Kind, head: str, row: str) -> Finding:
    """The largest weight in a row is more than twice the weight that evenly spread attention would give."""
    at = evidence.head(kind, head)
    view = evidence.view(kind)
    row_at = evidence.row(kind, row, at)
    names = column_names(view)
    allowed = np.flatnonzero(view.mask[row_at])
    weights = view.weights[*at, row_at]
    # If a word occurs in several columns, it counts once, with the largest weight.
    ranked = list(dict.fromkeys(names[column] for column in sorted(allowed, key=lambda column: -weights[column])))
    best = {word: max(weights[column] for column in allowed if names[column] == word) for word in ranked}
    even = 1 / len(allowed)
    ranked += [ranked[-1]] * 2
    weight = float(best[ranked[0]])
    return finding(
        weight > 2 * even,
        word=ranked[0],
        weight=weight,
        second=ranked[1],
        second_weight=float(best[ranked[1]]),
        third=ranked[2],
        even=even,
        times=weight / even,
        count=len(allowed),
        row_word=row_names(view)[row_at],
        **_numbers(at),
    )


@claim("there", "back", "layer", "head")
def asymmetry(evidence: Evidence, kind: Kind, head: str, one: str, other: str) -> Finding:
    """One word looks at another word, which looks back much less."""
    if kind == "cross":
        raise LessonError("in cross-attention, no two words look at each other: set kind to encoder")
    at = evidence.head(kind, head)
    weights = evidence.view(kind).weights[at]
    first, second = evidence.column(kind, one), evidence.column(kind, other)
    there, back = float(weights[first, second]), float(weights[second, first])
    return finding(there > back + 0.05, there=there, back=back, **_numbers(at))


@claim("weight", "other", "times", "more", "count", "layer", "head")
def link(evidence: Evidence, row: str, column: str, than: str) -> Finding:
    """In an encoder head, one word's weight on another is over twice the average, and larger than on a third word."""
    weights = evidence.view("encoder").weights
    at = evidence.head("encoder", f"{row} -> {column}")
    row_at = evidence.row("encoder", row, at)
    to, third = (weights[:, :, row_at, evidence.column("encoder", word)] for word in (column, than))
    weight, other, even = float(to[at]), float(third[at]), 1 / weights.shape[-1]
    return finding(
        weight > other and weight > 2 * even,
        weight=weight,
        other=other,
        times=weight / even,
        more=int((to > third).sum()),
        count=to.size,
        **_numbers(at),
    )


@claim("share", "average", "layer", "head", "count")
def job(evidence: Evidence, kind: Kind, job: str, least: float = 0.5) -> Finding:
    """A head's share of attention on one job is at least `least`, and exceeds the average head's by more than 0.2."""
    shares = evidence.metric(kind, JOBS.get(job, job))
    at = evidence.head(kind, job)
    share, average = float(shares[at]), float(shares.mean())
    return finding(
        share >= least and share > average + 0.2, share=share, average=average, count=shares.size, **_numbers(at)
    )


def _numbers(at: tuple[int, int]) -> dict[str, int]:
    return {"layer": at[0] + 1, "head": at[1] + 1}
