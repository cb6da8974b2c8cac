"""Claims about running the model without positional encodings or without the decoder mask."""

from collections.abc import Mapping

import numpy as np

from transformer.lessons.claims.heads import ROUNDING
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.evidence import JOBS, LATER_TOKENS, Evidence
from transformer.running.runs.trace import TraceRun
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Kind

NO_POSITIONS = Interventions(positions=False)
NO_MASK = Interventions(decoder_mask=False)
# Model parts that a figure can switch off, to show a head's map without them.
PARTS: Mapping[str, Interventions] = {"positions": NO_POSITIONS, "mask": NO_MASK}


@claim("first", "second", "first_without", "second_without")
def order_lost(evidence: Evidence, other: str) -> Finding:
    """Two orders of the same words get different translations, but identical ones if positional encodings are off."""
    sentences = (evidence.sentence, other)
    first, second = (evidence.runs.get(TraceRun(text)).target_text for text in sentences)
    without = [evidence.runs.get(TraceRun(text, interventions=NO_POSITIONS)).target_text for text in sentences]
    return finding(
        first != second and without[0] == without[1] != "",
        first=first,
        second=second,
        first_without=without[0],
        second_without=without[1],
    )


@claim("share", "without", "even", "layer", "head")
def job_without_positions(evidence: Evidence, kind: Kind, job: str) -> Finding:
    """A head spends over half of its attention on its job, but less than half as much without positional encodings."""
    layer, head = at = evidence.head(kind, job)
    name = JOBS.get(job, job)
    share = float(evidence.metric(kind, name)[at])
    without = float(evidence.metric(kind, name, interventions=NO_POSITIONS)[at])
    return finding(
        share > 0.5 and without < share / 2,
        share=share,
        without=without,
        even=1 / evidence.trace().mask(kind).shape[1],
        layer=layer + 1,
        head=head + 1,
    )


@claim("steps", "cells", "masked", "share", "open")
def masked_cells(evidence: Evidence) -> Finding:
    """The mask hides every later word: n (n − 1) / 2 of the n × n cells in a decoder map."""
    view = evidence.view("decoder")
    mask, weights = view.mask, view.weights
    steps, hidden = len(mask), int((~mask).sum())
    return finding(
        hidden == steps * (steps - 1) // 2 and bool((weights[..., ~mask] == 0).all()),
        steps=steps,
        cells=mask.size,
        masked=hidden,
        share=hidden / mask.size,
        open=mask.size - hidden,
    )


@claim("weight", "count")
def first_step(evidence: Evidence) -> Finding:
    """At the first step, every head can look only at the start symbol, so the start symbol's weight is 1."""
    weights = evidence.trace().decoder[:, :, 0, 0]
    return finding(bool(np.abs(weights - 1).max() < ROUNDING), weight=float(weights.min()), count=weights.size)


@claim("share", "average", "layer", "head")
def future_seen(evidence: Evidence) -> Finding:
    """Without the mask, heads also look at later tokens."""
    shares = evidence.shares("decoder", LATER_TOKENS, interventions=NO_MASK)
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    return finding(
        float(shares.mean()) > 0.05,
        share=float(shares.max()),
        average=float(shares.mean()),
        layer=int(layer) + 1,
        head=int(head) + 1,
    )


@claim("before", "after", "direction", "times")
def future_disturbs(evidence: Evidence) -> Finding:
    """Without the mask, the model finds its own translation less likely: it never saw later tokens in training."""
    before, after = (
        float(evidence.trace(interventions=each).log_probs.sum(dtype=np.float64)) for each in (AS_TRAINED, NO_MASK)
    )
    # For a long translation, both probabilities may underflow, and the ratio may overflow.
    with np.errstate(over="ignore", under="ignore"):
        probability, without, times = (float(np.exp(power)) for power in (before, after, before - after))
    return finding(
        after < before,
        before=probability,
        after=without,
        direction="less likely" if after < before else "more likely",
        times=times,
    )
