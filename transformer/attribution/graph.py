"""The attribution graph of a prediction: how much of the logit flows between tokens, heads and feed-forward networks.

With all nonlinear operations held constant, the logit is a sum over paths (Elhage et al. 2021, "A Mathematical
Framework for Transformer Circuits"). A node's value is the part of the logit that passes through the node's output. An
edge's value is the part of the receiver's value that the sender contributed. Biases are senders too. A node's incoming
edges add up to the node's value, and so do the outgoing edges. No dictionary is trained, unlike in Ameisen et al. 2025,
"Circuit Tracing".
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenLayer, FrozenRun, SubLayerId
from transformer.values.cancellation import check_cancelled
from transformer.values.kinds import Kind
from transformer.values.trace import Stack, Trace

NodeKind = Literal["token", "head", "feed-forward", "bias", "target"]
# Edges below this magnitude, in logits, are included in the sums but not stored.
MIN_EDGE = 0.005
# Maximum number of nodes in a drawing; larger graphs are unreadable.
MAX_NODES = 30


@dataclass(frozen=True)
class Node:
    """A model component at a token position.

    Attributes:
        kind: type of node. A token node combines the embedding and the positional encoding. A bias node combines
            all biases that affect the nodes of one stack.
        place: sub-layer, for a head or a feed-forward network; None for other nodes.
        stack: stack whose residual stream the node writes to.
        head: 0-based index of the head; None for a node that is not a head.
        position: position of the token or of the query; -1 for the target and for a bias.
    """

    kind: NodeKind
    place: SubLayerId | None
    stack: Stack
    head: int | None
    position: int

    @property
    def attention(self) -> Kind | None:
        """A head's attention kind; None for other nodes."""
        return self.place.kind if self.place else None


# An edge, as a pair (sender, receiver).
Path = tuple[Node, Node]


@dataclass(frozen=True, eq=False)
class AttributionGraph:
    """Nodes and edges of an attribution graph, without bias nodes or negligible edges; float64, in logits.

    Attributes:
        nodes: the N nodes. Each node comes after all nodes that have an edge into it; the target is last.
        values: value of each node, computed from the node's output, [N].
        inflow: sum of the edges from other nodes into each node, including those that are not stored, [N]; 0 for
            tokens.
        biases: edge from the biases into each node, [N]; 0 for tokens.
        own: part of each node's value that comes from no other node, [N]: a token's whole value, 0 for other nodes.
        senders, receivers: node indices at the two ends of each edge, [E].
        edges: value of each edge, [E].
        flow: sum of the magnitudes of all edges between nodes, including edges that are not stored.
    """

    nodes: tuple[Node, ...]
    values: np.ndarray
    inflow: np.ndarray
    biases: np.ndarray
    own: np.ndarray
    senders: np.ndarray
    receivers: np.ndarray
    edges: np.ndarray
    flow: float

    def error(self) -> np.ndarray:
        """Return the absolute difference between each node's value and the sum of its parts (`sums`), [N]."""
        return abs(self.sums - self.values)

    @property
    def sums(self) -> np.ndarray:
        """For each node, the sum of its `inflow`, `biases` and `own`, [N]."""
        return self.inflow + self.biases + self.own

    def bias(self, stack: Stack) -> float:
        """Return the value of a stack's bias node: the sum of the edges from the biases into the stack's nodes."""
        return float(sum(self.biases[index] for index, node in enumerate(self.nodes) if node.stack == stack))

    def paths(self, edges: Iterable[int]) -> tuple[Path, ...]:
        """Return the given edges as (sender, receiver) pairs."""
        return tuple((self.nodes[self.senders[edge]], self.nodes[self.receivers[edge]]) for edge in edges)


@dataclass(frozen=True, eq=False)
class PrunedGraph:
    """The part of an attribution graph that large edges connect to the target.

    Attributes:
        threshold: minimum magnitude of an edge in the pruned graph, in logits.
        nodes: node indices in increasing order.
        edges: edge indices, largest magnitude first.
        biased: indices of the nodes whose edge from the biases is at least `threshold` in magnitude.
        kept: fraction of `AttributionGraph.flow` that the pruned graph's edges carry.
    """

    threshold: float
    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    biased: tuple[int, ...]
    kept: float


def attribution_graph(run: FrozenRun, target: Target, *, smallest: float = MIN_EDGE) -> AttributionGraph:
    """Build the attribution graph of a logit or logit difference, summed over the target's positions.

    Args:
        run: frozen run of the trace to explain.
        target: the prediction to explain.
        smallest: smallest magnitude of an edge to store, in logits.
    """
    directions, offset = output_directions(run, target)
    gradients, read = _backward(run, directions)
    return _Forward(run, gradients, read, smallest).graph(directions, offset)


def runner_up(trace: Trace, position: int) -> int:
    """Return the id of the most likely token at a position, apart from the predicted one."""
    return next(int(each) for each in trace.candidate_ids[position] if each != trace.predicted_tokens[position].id)


def output_directions(run: FrozenRun, target: Target) -> tuple[np.ndarray, float]:
    """Return the gradient of a target's score with respect to the decoder's output, [T, D], and the score's bias term.

    The score is the sum of the target's logits, minus the logits of the tokens in `target.against`, if any.
    """
    trace, weights = run.trace, run.weights
    matrix = weights.arrays["generator.weight"]
    bias = weights.arrays["generator.bias"] if weights.config.output_bias else np.zeros(len(matrix))
    directions, offset = np.zeros((len(trace.target_tokens), matrix.shape[1])), 0.0
    for position, other in zip(target.positions, target.against or (None,) * len(target.positions), strict=True):
        for token_id, sign in ((trace.predicted_tokens[position].id, 1.0), (other, -1.0)):
            if token_id is not None:
                directions[position] += sign * matrix[token_id].astype(np.float64)
                offset += sign * float(bias[token_id])
    return directions, offset


def prune(graph: AttributionGraph, most: int = MAX_NODES) -> PrunedGraph:
    """Return the part of the graph that the largest edges connect to the target, with at most `most` nodes."""
    sizes, target = abs(graph.edges), len(graph.nodes) - 1
    into: dict[int, list[int]] = defaultdict(list)
    for edge, receiver in enumerate(graph.receivers.tolist()):
        into[receiver].append(edge)
    kept_nodes, waiting, threshold = {target}, [(-sizes[edge], edge) for edge in into[target]], np.inf
    heapq.heapify(waiting)
    while waiting and len(kept_nodes) < most:
        size, edge = heapq.heappop(waiting)
        threshold, sender = min(threshold, -size), int(graph.senders[edge])
        if sender not in kept_nodes:
            kept_nodes.add(sender)
            for each in into[sender]:
                heapq.heappush(waiting, (-sizes[each], each))
    inside = (
        np.isin(graph.receivers, list(kept_nodes)) & np.isin(graph.senders, list(kept_nodes)) & (sizes >= threshold)
    )
    edges = np.flatnonzero(inside)
    edges = edges[np.argsort(-sizes[edges], kind="stable")]
    kept_share = float(sizes[edges].sum() / graph.flow) if graph.flow else 0.0
    nodes = tuple(sorted(kept_nodes))
    biased = tuple(at for at in nodes if abs(graph.biases[at]) >= threshold)
    return PrunedGraph(float(threshold), nodes, tuple(edges.tolist()), biased, kept_share)


def _backward(
    run: FrozenRun, directions: np.ndarray
) -> tuple[dict[SubLayerId | Stack, np.ndarray], dict[SubLayerId, np.ndarray]]:
    """Return the logit's gradients: [T, D] for outputs of sub-layers and embeddings, [R, T, D] for inputs of heads."""
    at: dict[Stack, np.ndarray] = {stack: np.zeros_like(last) for stack, last in run.last.items()}
    at["decoder"] = run.output["decoder"].adjoint(directions)
    gradients: dict[SubLayerId | Stack, np.ndarray] = {}
    read: dict[SubLayerId, np.ndarray] = {}
    for layer in reversed(run.layers):
        place = layer.place
        at[place.stack] = gradients[place] = layer.after.adjoint(at[place.stack])
        read[place] = layer.input_gradient(gradients[place], run.weights)
        key_gradient = np.einsum("rts,rtd->sd", layer.mix, read[place], optimize=True)
        at[place.reads] = at[place.reads] + layer.read.adjoint(key_gradient)
        check_cancelled()
    return {**gradients, **at}, read


class _Forward:
    """Traces each component's contribution in a forward pass, and collects every node's incoming edges."""

    def __init__(
        self,
        run: FrozenRun,
        gradients: dict[SubLayerId | Stack, np.ndarray],
        read: dict[SubLayerId, np.ndarray],
        smallest: float,
    ) -> None:
        self.run, self.gradients, self.read, self.smallest = run, gradients, read, smallest
        self.nodes: list[Node] = []
        self.values: list[np.ndarray] = []
        self.inflow: list[np.ndarray] = []
        self.biases: list[np.ndarray] = []
        self.edges: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.flow = 0.0
        # For each component that writes to a stream, the index of its node at position 0. The nodes
        # at later positions follow.
        self.writers: dict[Stack, list[int]] = defaultdict(list)

    def graph(self, directions: np.ndarray, offset: float) -> AttributionGraph:
        for stack, gradient in self.gradients.items():
            if not isinstance(stack, SubLayerId):
                values = (self.run.embeddings(stack).sum(axis=0) * gradient).sum(axis=-1)[None]
                self._add(stack, None, values, np.zeros_like(values), np.zeros_like(values))
        for layer, streams in self.run.steps():
            if layer is not None:
                stream = streams[layer.place.reads]
                self._add_layer(layer, self._merged(stream.writers, layer.place.reads), stream.constant)
                check_cancelled()
            else:
                stream, norm = streams["decoder"], self.run.output["decoder"]
                into = (self._merged(stream.writers, "decoder") * norm.adjoint(directions)).sum(axis=-1)  # [W, T]
                bias = ((norm.linear(stream.constant) + norm.bias) * directions).sum() + offset
                value = ((norm.linear(self.run.last["decoder"]) + norm.bias) * directions).sum() + offset
                self._keep("decoder", into[:, :, None, None], len(self.nodes))
                self._end(np.array([value]), np.array([into.sum()]), np.array([bias]))
        self.nodes.append(Node("target", None, "decoder", None, -1))
        senders, receivers, edges = (np.concatenate(parts) for parts in zip(*self.edges, strict=True))
        values, inflow, biases = map(np.concatenate, (self.values, self.inflow, self.biases))
        own_values = np.where([node.kind == "token" for node in self.nodes], values, 0.0)
        return AttributionGraph(
            tuple(self.nodes), values, inflow, biases, own_values, senders, receivers, edges, self.flow
        )

    def _merged(self, writers: np.ndarray, stack: Stack) -> np.ndarray:
        """Add up the contributions of a token's embedding and positional encoding, because each token is one node."""
        parts = len(self.run.embeddings(stack))
        return np.concatenate((writers[:parts].sum(axis=0, keepdims=True), writers[parts:]))

    def _add_layer(self, layer: FrozenLayer, writers: np.ndarray, constant: np.ndarray) -> None:
        place, norm = layer.place, layer.read
        gradient, read = self.gradients[place], self.read[place]
        heads, rows, width = read.shape
        # The standard deviation depends on the key position, so divide by it only after the matrix product.
        scaled = norm.centred(read)
        parts = (writers.reshape(-1, width) @ scaled.reshape(-1, width).T).reshape(*writers.shape[:2], heads, rows)
        parts *= (layer.mix / np.broadcast_to(norm.deviation, (layer.mix.shape[-1], 1))[:, 0]).transpose(2, 0, 1)
        mixed_bias = layer.mix @ (norm.linear(constant) + norm.bias)  # [R, T, S] x [S, D] -> [R, T, D]
        biases = (mixed_bias * read).sum(axis=-1) + (layer.constant * gradient).sum(axis=-1)
        self._keep(place.reads, parts, len(self.nodes))
        self._add(place.stack, place, (layer.written * gradient).sum(axis=-1), parts.sum(axis=(0, 1)), biases)

    def _add(
        self, stack: Stack, place: SubLayerId | None, values: np.ndarray, inflow: np.ndarray, biases: np.ndarray
    ) -> None:
        """Append one node for each of the `values` [R, T] of a sub-layer, or of a stack's tokens if `place` is None."""
        kind: NodeKind = "token" if place is None else "head" if place.kind else "feed-forward"
        for head in range(len(values)):
            self.writers[stack].append(len(self.nodes))
            number = head if kind == "head" else None
            self.nodes += [Node(kind, place, stack, number, position) for position in range(values.shape[1])]
        self._end(values.ravel(), inflow.ravel(), biases.ravel())

    def _end(self, values: np.ndarray, inflow: np.ndarray, biases: np.ndarray) -> None:
        self.values.append(values)
        self.inflow.append(inflow)
        self.biases.append(biases)

    def _keep(self, stack: Stack, parts: np.ndarray, first: int) -> None:
        """Store the large elements of `parts`, [W, S, R, T], as edges.

        The edges lead from a stack's components to nodes; the first of these nodes has the index `first`.
        """
        sizes = abs(parts)
        self.flow += float(sizes.sum())
        writer, position, *receiver = np.nonzero(sizes >= max(self.smallest, np.finfo(float).tiny))
        senders = np.array(self.writers[stack])[writer] + position
        receivers = first + receiver[0] * parts.shape[3] + receiver[1]
        self.edges.append((senders, receivers, parts[writer, position, receiver[0], receiver[1]]))
