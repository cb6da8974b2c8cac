"""Events of a run, found in its numbers and described in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from transformer.tasks.run import Snapshot, TaskRun
from transformer.values.kinds import KINDS, Kind

# A head has formed when this share of its attention has the target of its name. Short rows of masked attention have
# half of theirs on the diagonal from the start.
FORMED = 2 / 3
SOLVED = 0.99
# Least number of steps between learning the training items and the held-out ones that counts as grokking.
GROKKING = 1_000
# The name of each kind of attention on the pages.
KIND_NAMES: Mapping[Kind, str] = {"encoder": "encoder", "decoder": "masked", "cross": "cross"}
HEADS: Mapping[str, str] = {
    "diagonal": "becomes a diagonal",
    "mirror": "becomes a mirror",
    "prefix_match": "looks at what followed before",
}


@dataclass(frozen=True)
class Event:
    """A property that a snapshot has and the one before lacked.

    Attributes:
        step: step of that snapshot.
        text: a few words, including the step.
        score: name of the score that a head reached; empty for an event of the whole model.
        kind, layer, head: the head of the event, from 0; None for the whole model.
    """

    step: int
    text: str
    score: str = ""
    kind: Kind | None = None
    layer: int | None = None
    head: int | None = None


def events(run: TaskRun) -> tuple[Event, ...]:
    """All events of a run, ordered by step."""
    return tuple(sorted([*_of_heads(run), *_of_model(run.snapshots)], key=lambda event: event.step))


def first_over(values: Iterable[float], bound: float) -> int | None:
    """The index from which all values are at least the bound; None if the last one is below, or there are none."""
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
                # A property that a head has before the first step is not learned.
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
    # Both are first times: with weight decay, a continued training loses some of its quality, and finds it again.
    learned, found = (
        next((snapshot.step for snapshot, match in zip(snapshots, each, strict=True) if match >= SOLVED), None)
        for each in ([snapshot.training_match for snapshot in snapshots], matches)
    )
    if learned is not None and found is not None and found - learned > GROKKING:
        yield Event(learned, f"99% of the training items are right at step {learned:,}")
        later = f"{found - learned:,} steps after the training items"
        yield Event(found, f"grokking: the held-out items follow at step {found:,}, {later}")
