"""Claims about the importance of heads, which is measured by removing them."""

import numpy as np

from transformer.errors import LessonError
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.document import quoted
from transformer.lessons.evidence import JOBS, Evidence
from transformer.running.runs.trace import TraceRun
from transformer.values.interventions import Interventions, all_heads
from transformer.values.kinds import Kind

KIND_NAMES: dict[Kind, str] = {
    "encoder": "encoder attention",
    "decoder": "masked attention",
    "cross": "cross attention",
}


@claim("count", "likelier", "share", "kind", "layer", "head", "change", "factor", "times", "best_change")
def head_worth(evidence: Evidence) -> Finding:
    """Removing some heads makes the translation less likely; removing others makes it more likely."""
    changes = evidence.head_changes()
    worst = int(changes.argmin())
    kind, layer, head = all_heads(evidence.runs.config)[worst]
    likelier = int((changes > 0).sum())
    return finding(
        float(changes.min()) < 0 < float(changes.max()),
        count=len(changes),
        likelier=likelier,
        share=likelier / len(changes),
        kind=KIND_NAMES[kind],
        layer=layer + 1,
        head=head + 1,
        change=float(changes[worst]),
        factor=float(np.exp(changes[worst])),
        times=float(np.exp(-changes[worst])),
        best_change=float(changes.max()),
    )


@claim("share", "change", "factor", "before", "after", "more", "count", "layer", "head")
def clear_and_hardly_needed(evidence: Evidence, kind: Kind, job: str) -> Finding:
    """A head uses most of its attention for one job, but the translation needs many other heads more."""
    if job not in JOBS:
        raise LessonError(f"there is no head job {quoted(job)}; choose one of: {', '.join(JOBS)}")
    layer, head = at = evidence.head(kind, job)
    changes = evidence.head_changes()
    change = float(changes[all_heads(evidence.runs.config).index((kind, layer, head))])
    share, more = float(evidence.metric(kind, JOBS[job])[at]), int((changes < change).sum())
    before = float(np.exp(evidence.trace().log_probs.sum(dtype=np.float64)))
    return finding(
        share > 0.5 and more > len(changes) / 4,
        share=share,
        change=change,
        factor=float(np.exp(change)),
        before=before,
        after=before * float(np.exp(change)),
        more=more,
        count=len(changes),
        layer=layer + 1,
        head=head + 1,
    )


@claim("count", "heads", "share", "before", "least", "most")
def heads_removed(evidence: Evidence, count: int) -> Finding:
    """Removing some unimportant heads leaves the translation unchanged; removing as many important heads changes it."""
    before, least, most = removed_translations(evidence, count)
    heads = len(all_heads(evidence.runs.config))
    return finding(
        least == before != most, count=count, heads=heads, share=count / heads, before=before, least=least, most=most
    )


def check_count(evidence: Evidence, count: int) -> None:
    """Check that the number of heads to remove is at least 1 and at most half of the model's heads.

    Raises:
        LessonError: `count` is out of range.
    """
    half = len(all_heads(evidence.runs.config)) // 2
    if not 1 <= count <= half:
        raise LessonError(f"count must be from 1 to {half} (half of the heads), not {count}")


def removed_translations(evidence: Evidence, count: int) -> tuple[str, str, str]:
    """Return translations with all heads, without the `count` least important, and without the `count` most important.

    Raises:
        LessonError: `count` is below 1 or above half of the heads.
    """
    check_count(evidence, count)
    heads = all_heads(evidence.runs.config)
    ranked = [heads[index] for index in np.argsort(-evidence.head_changes(), kind="stable")]
    least, most = (
        evidence.runs.get(TraceRun(evidence.sentence, interventions=Interventions(gates=dict.fromkeys(removed, 0.0))))
        for removed in (ranked[:count], ranked[-count:])
    )
    return evidence.trace().target_text, least.target_text, most.target_text
