"""Finds and describes events in a training run, such as the formation of an induction head."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from transformer.tasks.run import Snapshot, TaskRun
from transformer.values.kinds import KINDS, Kind

# A head counts as formed if its score, a fraction of its attention weight, reaches this threshold. The threshold is
# above one half, because in short masked rows about half of the weight is on the diagonal even before training.
MIN_HEAD_SCORE = 2 / 3
MIN_MATCH = 0.99
# A model has grokked if it solves the held-out items more than this many steps after learning the training items.
MIN_GROKKING_STEPS = 1_000
# Display names of the attention kinds.
KIND_NAMES: Mapping[Kind, str] = {"encoder": "encoder", "decoder": "masked", "cross": "cross"}
HEADS: Mapping[str, str] = {
    "diagonal": "becomes a diagonal",
    "mirror": "becomes a mirror",
    "prefix_match": "looks at what follows other copies of the symbol",
}


@dataclass(frozen=True)
class Event:
    """A property that the model gains during training, such as a diagonal attention pattern in one head.

    Attributes:
        step: training step of the snapshot in which the property appears.
        text: description of a few words for the screen; it includes the step.
        score: name of the head score that reached the threshold; empty if the event concerns the whole model.
        kind, layer, head: attention kind and 0-based layer and head; None if the event concerns the whole model.
    """

    step: int
    text: str
    score: str = ""
    kind: Kind | None = None
    layer: int | None = None
    head: int | None = None


def events(run: TaskRun) -> tuple[Event, ...]:
    """Return all events in a training run, ordered by step."""
    return tuple(sorted([*_head_events(run), *_model_events(run.snapshots)], key=lambda event: event.step))


def first_above(values: Iterable[float], bound: float) -> int | None:
    """Return the first index from which all values are at least `bound`; None if there is no such index."""
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
                # Index 0 is the snapshot before training, so a high score there was not learned.
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
            yield Event(step, f"{words} of the held-out items are solved at step {step:,}")
    # Use the first step at which accuracy reaches MIN_MATCH: with weight decay, accuracy may drop again temporarily.
    learned, found = (
        next((snapshot.step for snapshot, match in zip(snapshots, each, strict=True) if match >= MIN_MATCH), None)
        for each in ([snapshot.training_match for snapshot in snapshots], matches)
    )
    if learned is not None and found is not None and found - learned > MIN_GROKKING_STEPS:
        yield Event(learned, f"99% of the training items are solved at step {learned:,}")
        later = f"{found - learned:,} steps after the training items"
        yield Event(found, f"grokking: the held-out items follow at step {found:,}, {later}")
