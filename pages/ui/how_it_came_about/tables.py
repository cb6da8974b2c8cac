"""Pure functions that return tables of an attribution graph: nodes with coordinates, paths, and edges from biases."""

from collections import Counter, defaultdict

import numpy as np
import pandas as pd

from pages.ui.how_it_came_about.question import PathQuestion
from transformer.attribution.graph import AttributionGraph, Node, PrunedGraph
from transformer.values.kinds import KINDS
from transformer.values.trace import STACKS, Stack

# Vertical offset of heads, by attention kind, and of feed-forward networks (None), as a fraction of a layer's height.
HEIGHTS = {"encoder": 0.25, "decoder": 0.2, "cross": 0.5, None: 0.8}
# Types of nodes, in the order of the legend.
GROUPS = ("token", "encoder head", "masked head", "cross head", "feed-forward", "biases", "prediction")
# Distance between heads of the same layer and token, as a fraction of the minimum width of a token's column. It leaves
# room for labels between the heads.
NODE_SPACING = 0.34


def node_table(graph: AttributionGraph, pruned: PrunedGraph, question: PathQuestion) -> pd.DataFrame:
    """Return a table with one row per drawn node: name, group, value, terms of the value, short label, and coordinates.

    Rows are indexed by the node's index in the graph. Bias nodes come last, in the order of `STACKS`. Token and bias
    nodes have no incoming edges.
    """
    nodes = drawn_nodes(graph, pruned)
    columns = column_centres(nodes)
    places: dict[tuple[float, float], list[int]] = defaultdict(list)
    top = max((node.place.layer for node in nodes if node.place), default=0) + 2.0
    for row, node in enumerate(nodes):
        x = columns.get(column_of(node), max(columns.values(), default=0.0))
        y = top if node.kind == "target" else 0.0
        places[x, node.place.layer + 0.6 + HEIGHTS[node.attention] if node.place else y].append(row)
    xs, ys = np.zeros(len(nodes)), np.zeros(len(nodes))
    for (x, y), rows in places.items():
        # Place heads of the same layer, kind and token side by side.
        xs[rows], ys[rows] = x + (np.arange(len(rows)) - (len(rows) - 1) / 2) * NODE_SPACING, y
    indices = list(pruned.nodes)
    own = [graph.bias(node.stack) for node in nodes if node.kind == "bias"]
    none = np.zeros(len(own))
    parts = {
        "from nodes": np.concatenate((graph.inflow[indices], none)),
        "from biases": np.concatenate((graph.biases[indices], none)),
        "from itself": np.concatenate((graph.own[indices], own)),
    }
    return pd.DataFrame(
        {
            "node": [question.name(node) for node in nodes],
            "group": [_group(node) for node in nodes],
            "value": np.concatenate((graph.values[indices], own)),
            **parts,
            "sum": sum(parts.values()),
            "short": [_short_label(node, question) for node in nodes],
            "x": xs,
            "y": ys,
        },
        index=indices + [bias_index(graph, node) for node in nodes if node.kind == "bias"],
    )


def bias_table(graph: AttributionGraph, pruned: PrunedGraph, question: PathQuestion) -> pd.DataFrame:
    """Return a table with one row per drawn edge from a bias node: from, to, and predicted effect in logits.

    Rows are indexed by the receiving node's index in the graph.
    """
    receivers = [graph.nodes[index] for index in pruned.biased]
    return pd.DataFrame(
        {
            "from": [question.name(_bias(node.stack)) for node in receivers],
            "to": [question.name(node) for node in receivers],
            "predicted": graph.biases[list(pruned.biased)],
        },
        index=list(pruned.biased),
    )


def path_table(graph: AttributionGraph, pruned: PrunedGraph, question: PathQuestion) -> pd.DataFrame:
    """Return a table with one row per path, largest first: from, to, and predicted effect in logits."""
    ends = graph.paths(pruned.edges)
    return pd.DataFrame(
        {
            "from": [question.name(sender) for sender, _ in ends],
            "to": [question.name(receiver) for _, receiver in ends],
            "predicted": graph.edges[list(pruned.edges)],
        }
    )


def drawn_nodes(graph: AttributionGraph, pruned: PrunedGraph) -> list[Node]:
    """Return the drawn nodes of the graph, followed by the bias nodes at which a drawn edge starts."""
    nodes = [graph.nodes[index] for index in pruned.nodes]
    stacks = {graph.nodes[index].stack for index in pruned.biased}
    return nodes + [_bias(stack) for stack in STACKS if stack in stacks]


def bias_index(graph: AttributionGraph, node: Node) -> int:
    """Return the index of a stack's bias node, given any node of the stack. Bias nodes follow all other nodes."""
    return len(graph.nodes) + STACKS.index(node.stack)


def column_centres(nodes: list[Node]) -> dict[tuple[bool, int], float]:
    """Return the horizontal centre of each token's column. A column is as wide as its widest row of heads."""
    ordered = sorted((node for node in nodes if node.kind != "target"), key=column_of)
    rows = Counter((column_of(node), node.place and node.place.layer, node.attention) for node in ordered)
    middles: dict[tuple[bool, int], float] = {}
    end = 0.0
    last: tuple[bool, int] | None = None
    for column in dict.fromkeys(map(column_of, ordered)):
        width = max(1.0, NODE_SPACING * max(count for (each, *_), count in rows.items() if each == column))
        # Leave a gap between source tokens and prefix tokens.
        end += 1.0 if last is not None and last[0] != column[0] else 0.0
        middles[column], end, last = end + width / 2, end + width, column
    return middles


def column_of(node: Node) -> tuple[bool, int]:
    """Return the column of a node: whether it belongs to the decoder, and the position of its token."""
    return node.stack == "decoder", node.position


def _bias(stack: Stack) -> Node:
    return Node("bias", None, stack, None, -1)


def _group(node: Node) -> str:
    if node.attention is not None:
        return GROUPS[1 + KINDS.index(node.attention)]
    return {"bias": "biases", "target": "prediction"}.get(node.kind, node.kind)


def _short_label(node: Node, question: PathQuestion) -> str:
    if node.kind == "bias":
        return "biases"
    if node.kind == "token":
        return question.label(node.stack, node.position)
    if node.place is None:
        return question.token
    return str(node.place.layer + 1) if node.head is None else f"{node.place.layer + 1}.{node.head + 1}"
