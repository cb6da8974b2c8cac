"""Encodes a training run for the browser: losses, and the head scores and attention maps of every snapshot."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention_atlas.browser.labels import TITLES, titles
from attention_atlas.browser.wire import codes, pack
from transformer.tasks.events import Event
from transformer.tasks.registry import task_named
from transformer.tasks.run import TaskRun
from transformer.tasks.scores import SCORES
from transformer.tasks.task import Tokens
from transformer.values.kinds import KINDS, Kind

# Labels of the start and end symbols. They cannot be mistaken for other tokens, which are characters or numbers.
START, END = "start", "end"
# Maximum number of points in a loss curve; more would not be visible.
MAX_POINTS = 300


def film_payload(run: TaskRun, events: Sequence[Event], header: Mapping[str, Any]) -> bytes:
    """Encode a training run as a message in the format of `attention_atlas.browser.wire`.

    Each row of the message's array contains the attention weights of one snapshot, one attention kind after another.

    Args:
        run: the training run so far.
        events: the notable events of the training run.
        header: additional entries for the message's header.
    """
    snapshots = run.snapshots
    item = run.item
    labels = kind_labels(item.source, item.target, (*item.target, END))
    attention = [
        codes(weights, mask_of(kind, weights)).reshape(len(snapshots), -1)
        for kind in KINDS
        for weights in [np.stack([snapshot.attention[kind] for snapshot in snapshots])]
    ]
    task = task_named(run.config.task)
    spectra = [
        snapshot.spectrum.astype(np.float64).round(3).tolist()
        for snapshot in snapshots
        if snapshot.spectrum is not None
    ]
    learned = [round(snapshot.training_match, 4) for snapshot in snapshots]
    complete = {
        **header,
        "steps": run.config.steps,
        "layers": run.config.layers,
        "heads": run.config.heads,
        "losses": points(run.losses),
        "at": [snapshot.step for snapshot in snapshots],
        "heldOut": [round(snapshot.held_out_loss, 5) for snapshot in snapshots],
        "exact": [round(snapshot.exact_match, 4) for snapshot in snapshots],
        "learned": None if task.sources() is None else learned,
        "spectra": spectra or None,
        "scores": {
            name: {kind: numbers([snapshot.scores[name][kind] for snapshot in snapshots]) for kind in KINDS}
            for name in SCORES
        },
        "events": [
            {
                "step": event.step,
                "text": event.text,
                "score": event.score,
                "kind": event.kind or "",
                "head": -1
                if event.layer is None or event.head is None
                else event.layer * run.config.heads + event.head,
            }
            for event in events
        ],
        "maps": [
            {"kind": kind, "title": TITLES[kind], "rows": rows, "columns": columns}
            for kind, (rows, columns) in labels.items()
        ],
        "axes": dict(zip(("from", "to"), titles(words=False), strict=True)),
    }
    return pack(complete, np.concatenate(attention, axis=1))


def kind_labels(source: Tokens, read: Tokens, predicted: Tokens) -> dict[Kind, tuple[list[str], list[str]]]:
    """Return the row and column labels of each attention kind.

    Args:
        source: the source tokens, without the end symbol.
        read: the tokens that the decoder reads, without the start symbol.
        predicted: the predicted tokens, one for the start symbol and one for each token in `read`.
    """
    columns, reads = [*source, END], [START, *read]
    steps = [f"in: {token} → out: {out}" for token, out in zip(reads, predicted, strict=True)]
    return {"encoder": (columns, columns), "decoder": (steps, reads), "cross": (steps, columns)}


def mask_of(kind: Kind, weights: np.ndarray) -> np.ndarray:
    """Return the mask of an attention kind, bool [R, C]; True where a query (row) may attend to a key (column).

    Args:
        weights: the attention weights, [..., R, C].
    """
    everywhere = np.ones(weights.shape[-2:], dtype=bool)
    return np.tril(everywhere) if kind == "decoder" else everywhere


def points(losses: np.ndarray) -> list[list[float]]:
    """Split a loss curve into at most MAX_POINTS nearly equal parts; return each part's middle step and mean loss."""
    parts = np.array_split(losses.astype(np.float64), min(len(losses), MAX_POINTS)) if len(losses) else []
    ends = np.cumsum([len(part) for part in parts])
    return [
        [round(end - (len(part) - 1) / 2, 1), round(float(part.mean()), 5)]
        for end, part in zip(ends.tolist(), parts, strict=True)
    ]


def numbers(scores: Sequence[np.ndarray]) -> list[list[float | None]]:
    """Return each snapshot's scores, [L, H], as a flat list, with None for undefined scores."""
    values = np.stack(scores).reshape(len(scores), -1).round(4)
    return [[None if np.isnan(value) else value for value in row] for row in values.tolist()]
