"""Path patching: measures how a prediction changes when one edge of its attribution graph is cut.

The receiver reads the residual stream without the sender's contribution (Wang et al. 2023, "Interpretability in the
Wild", section 3.1). The receiver's norm, attention and activation are recomputed, and so is everything after the
receiver. All other components still read the sender's contribution. The attribution graph predicts this effect with
norms, attention and activations held constant.
"""

from collections.abc import Sequence

import numpy as np

from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenRun, SubLayerId
from transformer.attribution.graph import Node, Path, output_directions
from transformer.backpropagation.notes import Notes, select
from transformer.values.cancellation import check_cancelled

# Maximum number of edges to cut in one batch, each in a separate copy of the text.
BATCH_PATHS = 8


def path_effects(run: FrozenRun, target: Target, paths: Sequence[Path]) -> np.ndarray:
    """Return how much the target's logit falls when each edge is cut on its own, [P]; negative where the logit rises.

    Args:
        run: frozen run of the trace.
        target: the prediction that the graph explains.
        paths: edges of the graph.
    """
    directions, _ = output_directions(run, target)
    cells = _cut_streams(run, paths)
    before = _score(run, run.last["decoder"][None], directions)
    effects = np.zeros(len(paths))
    # Sort edges by their receiver's layer, because a batch runs all layers from its earliest receiver's layer on.
    order: dict[SubLayerId | None, int] = {layer.place: number for number, layer in enumerate(run.layers)}
    rows = sorted(range(len(paths)), key=lambda row: order.get(paths[row][1].place, len(order)))
    for start in range(0, len(rows), BATCH_PATHS):
        batch = rows[start : start + BATCH_PATHS]
        last = _run_with(run, [(paths[row], cells[row]) for row in batch])
        effects[batch] = before - _score(run, last, directions)
        check_cancelled()
    return effects


def _cut_streams(run: FrozenRun, paths: Sequence[Path]) -> list[np.ndarray]:
    """For each edge, cut only that edge, and return the residual stream after the edge's receiver, at the receiver's
    position, [D].
    """
    cells: list[np.ndarray] = [np.zeros(0)] * len(paths)
    for layer, streams in run.steps():
        place = layer.place if layer else None
        for row, (sender, receiver) in enumerate(paths):
            if receiver.place != place:
                continue
            read = streams[place.reads if place else "decoder"]
            writers = [
                number
                for number, (at, head) in enumerate(read.names)
                if at == sender.place and (at is None or head == (sender.head or 0))
            ]
            wrote = read.writers[writers, sender.position].sum(axis=0)
            if layer is None:
                cells[row] = run.last["decoder"][sender.position] - wrote
            else:
                cells[row] = _receiver_stream(run, layer.place, sender.position, receiver, wrote)
    return cells


def _receiver_stream(run: FrozenRun, place: SubLayerId, read: int, receiver: Node, wrote: np.ndarray) -> np.ndarray:
    """Cut one edge, and return the residual stream after the receiver, at the receiver's position, [D].

    Args:
        run: frozen run of the trace.
        place: the receiver's sub-layer.
        read: position at which the sender wrote.
        receiver: node at the end of the edge.
        wrote: the sender's contribution, [D].
    """
    frozen, is_cross = run.at(place), place.part == "cross_attention"
    x = frozen.before.copy()
    memory = None
    if is_cross:
        last = run.last["encoder"].copy()
        last[read] -= wrote
        memory = run.stack_output("encoder", last[None])
    else:
        x[read] -= wrote
    notes = Notes()
    run.run(place, x[None], memory, notes)
    values = select(notes.values, place.part)
    at, output = receiver.position, frozen.written.sum(axis=0)[receiver.position] + frozen.bias
    if place.kind is None:
        contract = run.weights.linear(f"{place.stack}_layers.{place.layer}.feed_forward.contract")
        output = values["hidden"][0, at] @ contract.matrix + contract.bias
    else:
        projections = run.weights.attention(place.kind, place.layer)
        head = receiver.head or 0
        output = output - frozen.written[head, at] + values["outputs"][0, head, at] @ projections.output[head]
    return run.after(place, frozen.before[at] + output)


def _run_with(run: FrozenRun, changes: Sequence[tuple[Path, np.ndarray]]) -> np.ndarray:
    """Replace the stream at one receiver in each batch row, and return the decoder's final stream, [B, T, D]."""
    places = [receiver.place for (_, receiver), _ in changes]
    first = next((number for number, layer in enumerate(run.layers) if layer.place in places), len(run.layers))
    x, memory = np.zeros(0), None
    for stack in run.trace.stacks:
        layers = [layer for layer in run.layers[first:] if layer.place.stack == stack]
        memory = run.stack_output("encoder", x) if stack == "decoder" and len(run.trace.stacks) > 1 else None
        x = np.repeat((layers[0].before if layers else run.last[stack])[None], len(changes), axis=0)
        for layer in layers:
            x = run.run(layer.place, x, memory, Notes())
            for row, ((_, receiver), cell) in enumerate(changes):
                if receiver.place == layer.place:
                    x[row, receiver.position] = cell
            check_cancelled()
    for row, ((sender, receiver), cell) in enumerate(changes):
        if receiver.place is None:
            x[row, sender.position] = cell
    return x


def _score(run: FrozenRun, last: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return the target's logit without the output bias, [B], from the decoder's final streams, [B, T, D]."""
    return (run.stack_output("decoder", last) * directions).sum(axis=(1, 2))
