"""Finds events in a training run's measurements, such as the formation of an induction head, and describes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from transformer.tasks.run import Snapshot, TaskRun
from transformer.values.kinds import KINDS, Kind

# A head counts as formed when its score, a share of its attention, reaches this bound. The bound is above one half,
# because short rows of masked attention have half of their weight on the diagonal from the start.
MIN_HEAD_SCORE = 2 / 3
MIN_MATCH = 0.99
# Minimum number of steps from learning the training items to solving the held-out items that counts as grokking.
MIN_GROKKING_STEPS = 1_000
# Display names of the attention kinds.
KIND_NAMES: Mapping[Kind, str] = {"encoder": "encoder", "decoder": "masked", "cross": "cross"}
HEADS: Mapping[str, str] = {
    "diagonal": "becomes a diagonal",
    "mirror": "becomes a mirror",
    "prefix_match": "looks at what followed before",
}


@dataclass(frozen=True)
class Event:
    """A property that the model acquired during training: present in a snapshot, and absent in the previous one.

    Attributes:
        step: step of the snapshot.
        text: a few words for the screen, including the step.
        score: name of the score that a head reached; empty for an event of the whole model.
        kind, layer, head: the head, with layer and head from 0; None for an event of the whole model.
    """

    step: int
    text: str
    score: str = ""
    kind: Kind | None = None
    layer: int | None = None
    head: int | None = None


def events(run: TaskRun) -> tuple[Event, ...]:
    """Return all events of a run, ordered by step."""
    return tuple(sorted([*_head_events(run), *_model_events(run.snapshots)], key=lambda event: event.step))


def first_above(values: Iterable[float], bound: float) -> int | None:
    """Return the index from which all values are at least the bound; None if there is no such index."""
    found = None
    for index, value in enumerate(values):
        if not value >= bound:
            found = None
        elif found is None:
            found = index
    return found


def _head_events(run: TaskRun) -> Iterator[Event]:
    for score, words in HEADS.items():
        for kind in KINDS:
            values = np.array([snapshot.scores[score][kind] for snapshot in run.snapshots])  # [snapshots, L, H]
            for layer, head in np.ndindex(values.shape[1:]):
                index = first_above(values[:, layer, head], MIN_HEAD_SCORE)
                # Index 0 is before the first step, so a property present there was not learned.
                if index:
                    step = run.snapshots[index].step
                    layers = f" of layer {layer + 1}" if run.config.layers > 1 else ""
                    place = f"{KIND_NAMES[kind]} head {head + 1}{layers}"
                    yield Event(step, f"{place} {words} at step {step:,}", score, kind, layer, head)


def _model_events(snapshots: tuple[Snapshot, ...]) -> Iterator[Event]:
    matches = [snapshot.exact_match for snapshot in snapshots]
    for share, words in ((0.5, "half"), (MIN_MATCH, "99%")):
        index = first_above(matches, share)
        if index is not None:
            step = snapshots[index].step
            yield Event(step, f"{words} of the held-out items are right at step {step:,}")
    # Use the first time for both, because with weight decay, accuracy may drop again temporarily.
    learned, found = (
        next((snapshot.step for snapshot, match in zip(snapshots, each, strict=True) if match >= MIN_MATCH), None)
        for each in ([snapshot.training_match for snapshot in snapshots], matches)
    )
    if learned is not None and found is not None and found - learned > MIN_GROKKING_STEPS:
        yield Event(learned, f"99% of the training items are right at step {learned:,}")
        later = f"{found - learned:,} steps after the training items"
        yield Event(found, f"grokking: the held-out items follow at step {found:,}, {later}")
