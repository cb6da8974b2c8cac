"""The attribution graph of a prediction: which token, head or network passed how much of the logit to which other.

With everything frozen that is not linear, the logit is a sum over paths (Elhage et al. 2021, "A Mathematical Framework
for Transformer Circuits"). The value of a node is the part of the logit that passes through what it wrote. An edge is
the part of its receiver's value that its sender wrote. Biases are senders too. The edges into a node add up to its
value, and so do the edges out of it. No dictionary is trained, unlike in Ameisen et al. 2025, "Circuit Tracing".
"""

from __future__ import annotations

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
# Edges below this many logits are counted, but not kept.
SMALLEST = 0.005
# Nodes of the drawing; more cannot be followed by eye.
MAX_NODES = 30


@dataclass(frozen=True)
class Node:
    """A part of the model at a position.

    Attributes:
        kind: a token is its embedding and its position together. A bias is all biases that nodes of one stack read.
        place: the sub-layer of a head or network; None for others.
        stack: of the stream that it writes to.
        head: from 0; None for others.
        position: of the token, or of the query; -1 for the target and a bias.
    """

    kind: NodeKind
    place: SubLayerId | None
    stack: Stack
    head: int | None
    position: int

    @property
    def attention(self) -> Kind | None:
        """The kind of attention of a head; None for others."""
        return self.place.kind if self.place else None


# A sender and its receiver.
Path = tuple[Node, Node]


@dataclass(frozen=True, eq=False)
class AttributionGraph:
    """All nodes but the biases, and the edges between them that are not negligible; float64, logits.

    Attributes:
        nodes: N of them, each after all that it reads; the target is the last.
        values: of the nodes, computed from what each wrote, [N].
        inflow: sums over all edges into each node, also the negligible ones, [N]; 0 for tokens.
        biases: the edges from the biases to each node, [N]; 0 for tokens.
        own: what each node does not read but has, [N]: the value of a token, and 0 for others.
        senders, receivers: indices of nodes, [E].
        edges: their values, [E].
        flow: sum of the sizes of all edges, also the negligible ones.
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
        """How far each node's sum is from its value, [N]."""
        return abs(self.sums - self.values)

    @property
    def sums(self) -> np.ndarray:
        """The sum of the edges into each node and of its own part, [N]."""
        return self.inflow + self.biases + self.own

    def bias(self, stack: Stack) -> float:
        """The value of a stack's bias node: all that it passes on."""
        return float(sum(self.biases[at] for at, node in enumerate(self.nodes) if node.stack == stack))

    def paths(self, edges: Iterable[int]) -> tuple[Path, ...]:
        """The ends of some edges."""
        return tuple((self.nodes[self.senders[edge]], self.nodes[self.receivers[edge]]) for edge in edges)


@dataclass(frozen=True, eq=False)
class PrunedGraph:
    """The nodes that large edges connect to the target.

    Attributes:
        threshold: the smallest size of an edge, logits.
        nodes: indices of nodes, rising.
        edges: indices of edges, the largest first.
        biased: indices of the nodes whose edge from the biases is at least as large as the threshold.
        kept: share of `AttributionGraph.flow`.
    """

    threshold: float
    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    biased: tuple[int, ...]
    kept: float


def attribution_graph(run: FrozenRun, target: Target, *, smallest: float = SMALLEST) -> AttributionGraph:
    """The graph of a target's logit, or of its difference to another; several positions are summed.

    Args:
        run: of a trace.
        target: the prediction.
        smallest: size of the smallest edge to keep, logits.
    """
    directions, offset = output_directions(run, target)
    gradients, read = _backward(run, directions)
    return _Forward(run, gradients, read, smallest).graph(directions, offset)


def runner_up(trace: Trace, position: int) -> int:
    """The id of the most likely token other than the predicted one."""
    return next(int(each) for each in trace.candidate_ids[position] if each != trace.predicted_tokens[position].id)


def output_directions(run: FrozenRun, target: Target) -> tuple[np.ndarray, float]:
    """The vectors by which the target reads the decoder's output, [T, D], and the bias that it adds."""
    trace, weights = run.trace, run.weights
    matrix = weights.arrays["generator.weight"]
    bias = weights.arrays["generator.bias"] if weights.config.output_bias else np.zeros(len(matrix))
    directions, offset = np.zeros((len(trace.target_tokens), matrix.shape[1])), 0.0
    for position, other in zip(target.positions, target.against or (None,) * len(target.positions), strict=True):
        for taken, sign in ((trace.predicted_tokens[position].id, 1.0), (other, -1.0)):
            if taken is not None:
                directions[position] += sign * matrix[taken].astype(np.float64)
                offset += sign * float(bias[taken])
    return directions, offset


def pruned(graph: AttributionGraph, most: int = MAX_NODES) -> PrunedGraph:
    """The graph with at most so many nodes: those that the largest edges connect to the target."""
    sizes, target = abs(graph.edges), len(graph.nodes) - 1
    into: dict[int, list[int]] = defaultdict(list)
    for edge, receiver in enumerate(graph.receivers.tolist()):
        into[receiver].append(edge)
    found, waiting, threshold = {target}, [(-sizes[edge], edge) for edge in into[target]], np.inf
    heapq.heapify(waiting)
    while waiting and len(found) < most:
        size, edge = heapq.heappop(waiting)
        threshold, sender = min(threshold, -size), int(graph.senders[edge])
        if sender not in found:
            found.add(sender)
            for each in into[sender]:
                heapq.heappush(waiting, (-sizes[each], each))
    inside = np.isin(graph.receivers, list(found)) & np.isin(graph.senders, list(found)) & (sizes >= threshold)
    edges = np.flatnonzero(inside)
    edges = edges[np.argsort(-sizes[edges], kind="stable")]
    kept = float(sizes[edges].sum() / graph.flow) if graph.flow else 0.0
    nodes = tuple(sorted(found))
    biased = tuple(at for at in nodes if abs(graph.biases[at]) >= threshold)
    return PrunedGraph(float(threshold), nodes, tuple(edges.tolist()), biased, kept)


def _backward(
    run: FrozenRun, directions: np.ndarray
) -> tuple[dict[SubLayerId | Stack, np.ndarray], dict[SubLayerId, np.ndarray]]:
    """The gradients of what each sub-layer writes and of each embedding, [T, D], and of what heads read [R, T, D]."""
    at: dict[Stack, np.ndarray] = {stack: np.zeros_like(last) for stack, last in run.last.items()}
    at["decoder"] = run.output["decoder"].adjoint(directions)
    gradients: dict[SubLayerId | Stack, np.ndarray] = {}
    read: dict[SubLayerId, np.ndarray] = {}
    for layer in reversed(run.layers):
        place = layer.place
        at[place.stack] = gradients[place] = layer.after.adjoint(at[place.stack])
        read[place] = layer.pulled(gradients[place], run.weights)
        seen = np.einsum("rts,rtd->sd", layer.mix, read[place], optimize=True)
        at[place.reads] = at[place.reads] + layer.read.adjoint(seen)
        check_cancelled()
    return {**gradients, **at}, read


class _Forward:
    """Follows what was written from the embeddings up, and collects the edges of every sub-layer."""

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
        # Index of the node of each writer at position 0; those at the others follow.
        self.writers: dict[Stack, list[int]] = defaultdict(list)

    def graph(self, directions: np.ndarray, offset: float) -> AttributionGraph:
        for stack, gradient in self.gradients.items():
            if not isinstance(stack, SubLayerId):
                values = (self.run.embedded(stack).sum(axis=0) * gradient).sum(axis=-1)[None]
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
        own = np.where([node.kind == "token" for node in self.nodes], values, 0.0)
        return AttributionGraph(tuple(self.nodes), values, inflow, biases, own, senders, receivers, edges, self.flow)

    def _merged(self, writers: np.ndarray, stack: Stack) -> np.ndarray:
        """A token is one node, so its embedding and its position are one writer."""
        parts = len(self.run.embedded(stack))
        return np.concatenate((writers[:parts].sum(axis=0, keepdims=True), writers[parts:]))

    def _add_layer(self, layer: FrozenLayer, writers: np.ndarray, constant: np.ndarray) -> None:
        place, norm = layer.place, layer.read
        gradient, read = self.gradients[place], self.read[place]
        heads, rows, width = read.shape
        # The deviation belongs to the position that is read, so it divides after the product.
        scaled = norm.centred(read)
        parts = (writers.reshape(-1, width) @ scaled.reshape(-1, width).T).reshape(*writers.shape[:2], heads, rows)
        parts *= (layer.mix / np.broadcast_to(norm.deviation, (layer.mix.shape[-1], 1))[:, 0]).transpose(2, 0, 1)
        seen = layer.mix @ (norm.linear(constant) + norm.bias)  # [R, T, S] x [S, D] -> [R, T, D]
        biases = (seen * read).sum(axis=-1) + (layer.constant * gradient).sum(axis=-1)
        self._keep(place.reads, parts, len(self.nodes))
        self._add(place.stack, place, (layer.written * gradient).sum(axis=-1), parts.sum(axis=(0, 1)), biases)

    def _add(
        self, stack: Stack, place: SubLayerId | None, values: np.ndarray, inflow: np.ndarray, biases: np.ndarray
    ) -> None:
        """Add nodes [R, T] with their values."""
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
        """Keep the edges [W, S, R, T] from a stack's writers into nodes that begin at an index."""
        sizes = abs(parts)
        self.flow += float(sizes.sum())
        writer, position, *receiver = np.nonzero(sizes >= max(self.smallest, np.finfo(float).tiny))
        senders = np.array(self.writers[stack])[writer] + position
        receivers = first + receiver[0] * parts.shape[3] + receiver[1]
        self.edges.append((senders, receivers, parts[writer, position, receiver[0], receiver[1]]))
