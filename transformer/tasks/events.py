"""What happened in a run, found in its numbers and put into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from transformer.tasks.run import Snapshot, TaskRun
from transformer.values.kinds import KINDS, Kind

# A head has formed when so much of its attention lies where its name says. Short rows of masked attention have half of
# theirs on the diagonal from the start.
FORMED = 2 / 3
SOLVED = 0.99
# Steps between knowing the training items and the held-out ones that are worth a word.
GROKKING = 1_000
# A kind of attention as the pages name it.
KIND_NAMES: Mapping[Kind, str] = {"encoder": "encoder", "decoder": "masked", "cross": "cross"}
HEADS: Mapping[str, str] = {
    "diagonal": "becomes a diagonal", "mirror": "becomes a mirror", "prefix_match": "looks at what followed before",
}


@dataclass(frozen=True)
class Event:
    """Something that a snapshot has and the one before had not.

    Attributes:
        step: of that snapshot.
        text: a few words, the step included.
        score: what a head has enough of; empty for an event of the whole model.
        kind, layer, head: whose event, the first being 0; None for the whole model.
    """

    step: int
    text: str
    score: str = ""
    kind: Kind | None = None
    layer: int | None = None
    head: int | None = None


def events(run: TaskRun) -> tuple[Event, ...]:
    """All events of a run, in the order of their steps."""
    return tuple(sorted([*_of_heads(run), *_of_model(run.snapshots)], key=lambda event: event.step))


def first_over(values: Iterable[float], bound: float) -> int | None:
    """The index from which on all values are at least the bound; None if the last is below, or there is none."""
    found = None
    for index, value in enumerate(values):
        if not value >= bound:
            found = None
        elif found is None:
            found = index
    return found


def _of_heads(run: TaskRun) -> Iterator[Event]:
    for score, words in HEADS.items():
        for kind in KINDS:
            values = np.array([snapshot.scores[score][kind] for snapshot in run.snapshots])  # [snapshots, L, H]
            for layer, head in np.ndindex(values.shape[1:]):
                index = first_over(values[:, layer, head], FORMED)
                # What a head has before the first step it has not learned.
                if index:
                    step = run.snapshots[index].step
                    layers = f" of layer {layer + 1}" if run.config.layers > 1 else ""
                    place = f"{KIND_NAMES[kind]} head {head + 1}{layers}"
                    yield Event(step, f"{place} {words} at step {step:,}", score, kind, layer, head)


def _of_model(snapshots: tuple[Snapshot, ...]) -> Iterator[Event]:
    matches = [snapshot.exact_match for snapshot in snapshots]
    for share, words in ((0.5, "half"), (SOLVED, "99%")):
        index = first_over(matches, share)
        if index is not None:
            step = snapshots[index].step
            yield Event(step, f"{words} of the held-out items are right at step {step:,}")
    # Both are the first time: with weight decay, a training that goes on loses some of what it had, and finds it again.
    learned, found = (
        next((snapshot.step for snapshot, match in zip(snapshots, each, strict=True) if match >= SOLVED), None)
        for each in ([snapshot.training_match for snapshot in snapshots], matches)
    )
    if learned is not None and found is not None and found - learned > GROKKING:
        yield Event(learned, f"99% of the training items are right at step {learned:,}")
        later = f"{found - learned:,} steps after the training items"
        yield Event(found, f"grokking: the held-out items follow at step {found:,}, {later}")
