"""The attribution graph as a chart: layers from bottom to top, source on the left, prefix on the right. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.charts.layers import layered
from pages.ui.charts.matrix import AXIS, INK, LEGEND, PICK
from pages.ui.charts.palette import PALETTE
from pages.ui.how_it_came_about.question import PathQuestion
from pages.ui.text.number_format import typeset
from transformer.attribution.graph import AttributionGraph, Node, PrunedGraph
from transformer.values.kinds import KINDS
from transformer.values.trace import STACKS

# Height of each type of node within its layer.
RISE = {"encoder": 0.25, "decoder": 0.2, "cross": 0.5, None: 0.8}
# Types of nodes; SHAPES has the shape for each type.
GROUPS = ("token", "encoder head", "masked head", "cross head", "feed-forward", "biases", "prediction")
SHAPES = ("square", "circle", "circle", "circle", "diamond", "triangle-up", "square")
# Number of points per curve.
STEPS = 25
# Heights by which an edge may be bent, in order of preference.
BOWS = (0.0, 0.3, -0.3, 0.6, -0.6)
FOR, AGAINST = "for", "against"
# The axis title explains the short labels of heads.
LABELS = "layer (5.6: head 6 of layer 5)"
# Column titles of effects, in logits. Both say what a path adds, so cutting the path removes it.
ADDS, ADDED = "adds, predicted", "adds, measured"
# Distance between heads of the same layer and token, relative to the width of a token with one head. Labels fit in
# between.
APART = 0.34


def node_table(graph: AttributionGraph, drawn: PrunedGraph, question: PathQuestion) -> pd.DataFrame:
    """Return a table with one row per drawn node: name, group, value, the parts of the value, short label, and x, y.

    The index is the node's index in the graph. Bias nodes come last, in the order of `STACKS`. Token and bias nodes
    have no incoming edges.
    """
    nodes = _drawn_nodes(graph, drawn)
    columns = _columns(nodes)
    places: dict[tuple[float, float], list[int]] = defaultdict(list)
    top = max((node.place.layer for node in nodes if node.place), default=0) + 2.0
    for row, node in enumerate(nodes):
        x = columns.get(_column(node), max(columns.values(), default=0.0))
        y = top if node.kind == "target" else 0.0
        places[x, node.place.layer + 0.6 + RISE[node.attention] if node.place else y].append(row)
    xs, ys = np.zeros(len(nodes)), np.zeros(len(nodes))
    for (x, y), rows in places.items():
        # Place heads of the same layer and token side by side.
        xs[rows], ys[rows] = x + (np.arange(len(rows)) - (len(rows) - 1) / 2) * APART, y
    indices = list(drawn.nodes)
    own = [graph.bias(node.stack) for node in nodes if node.kind == "bias"]
    none = np.zeros(len(own))
    parts = {
        "from nodes": np.concatenate((graph.inflow[indices], none)),
        "from biases": np.concatenate((graph.biases[indices], none)),
        "of its own": np.concatenate((graph.own[indices], own)),
    }
    return pd.DataFrame(
        {
            "node": [question.name(node) for node in nodes],
            "group": [_group(node) for node in nodes],
            "value": np.concatenate((graph.values[indices], own)),
            **parts,
            "sum": sum(parts.values()),
            "short": [_short(node, question) for node in nodes],
            "x": xs,
            "y": ys,
        },
        index=indices + [_bias_index(graph, node) for node in nodes if node.kind == "bias"],
    )


def bias_table(graph: AttributionGraph, drawn: PrunedGraph, question: PathQuestion) -> pd.DataFrame:
    """Return a table with one row per drawn edge from a bias node: from, to, and value in logits.

    The index is the receiver's index in the graph.
    """
    receivers = [graph.nodes[index] for index in drawn.biased]
    return pd.DataFrame(
        {
            "from": [question.name(_bias(node)) for node in receivers],
            "to": [question.name(node) for node in receivers],
            "predicted": graph.biases[list(drawn.biased)],
        },
        index=list(drawn.biased),
    )


def path_table(graph: AttributionGraph, drawn: PrunedGraph, question: PathQuestion) -> pd.DataFrame:
    """Return a table with one row per drawn edge, largest first: from, to, and predicted effect in logits."""
    ends = graph.paths(drawn.edges)
    return pd.DataFrame(
        {
            "from": [question.name(sender) for sender, _ in ends],
            "to": [question.name(receiver) for _, receiver in ends],
            "predicted": graph.edges[list(drawn.edges)],
        }
    )


def graph_chart(
    graph: AttributionGraph,
    drawn: PrunedGraph,
    question: PathQuestion,
    nodes: pd.DataFrame,
    paths: pd.DataFrame,
    picked: int,
) -> alt.LayerChart:
    """Return a chart of nodes and edges; clicking an edge sets the selection `PICK`, whose field `path` is 1-based.

    Edges from bias nodes are dotted, and their numbers follow those of the paths. An edge that was cut has the width
    and the sign of its measured effect; any other edge has those of its predicted effect.

    Args:
        graph: the attribution graph.
        drawn: the part of the graph to draw.
        question: the predicted token, and the labels of all tokens.
        nodes: the table made by `node_table`.
        paths: the table made by `path_table`, with an optional column of measured effects.
        picked: the 0-based number of the highlighted edge.
    """
    # Paths have the first numbers, from 1. Edges from bias nodes, which cannot be cut, have the numbers after them.
    biases = bias_table(graph, drawn, question)
    ends = [
        *((graph.senders[edge], graph.receivers[edge]) for edge in drawn.edges),
        *((_bias_index(graph, graph.nodes[index]), index) for index in drawn.biased),
    ]
    shown = _curves(ends, nodes)
    paths = pd.concat((paths, biases), ignore_index=True)
    measured = paths.reindex(columns=["measured"]).measured
    drawn_effect = measured.fillna(paths.predicted)
    signs = [f"{sign}, {'measured' if measured.notna().any() else 'predicted'}" for sign in (FOR, AGAINST)]
    told = paths.assign(
        path=range(1, len(paths) + 1),
        dashed=np.arange(len(paths)) >= len(drawn.edges),
        size=drawn_effect.abs(),
        sign=np.where(drawn_effect >= 0, *signs),
        effect=[typeset(each, "+.3f") for each in paths.predicted],
        cut=["not cut" if np.isnan(each) else typeset(each, "+.3f") for each in measured],
    )
    shown = shown.merge(told.drop(columns=["predicted"]), on="path")
    blue, orange = PALETTE["pair"]
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[nodes.x.min() - 0.7, nodes.x.max() + 0.7]))
    layers = range(1, int(nodes.y.max()))
    up = alt.Y(
        "y:Q",
        title=LABELS,
        scale=alt.Scale(domain=[-0.45, nodes.y.max() + 0.5]),
        axis=alt.Axis(
            **{**AXIS, "values": [layer + 0.05 for layer in layers], "labelExpr": "round(datum.value)", "grid": False}
        ),
    )
    tooltip = ["from:N", "to:N"]
    tooltip += [alt.Tooltip(f"{name}:N", title=title) for name, title in (("effect", ADDS), ("cut", ADDED))]
    lines = (
        alt.Chart(shown)
        .mark_line(cursor="pointer")
        .encode(
            x=across,
            y=up,
            order="step:Q",
            detail="path:N",
            tooltip=tooltip,
            strokeWidth=alt.StrokeWidth("size:Q", scale=alt.Scale(range=[1.5, 9]), legend=None),
            strokeDash=alt.StrokeDash(
                "dashed:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [3, 4]]), legend=None
            ),
            color=alt.Color(
                "sign:N",
                scale=alt.Scale(domain=signs, range=[blue, orange]),
                legend=alt.Legend(title=None, **{**LEGEND, "orient": "top"}),
            ),
            opacity=alt.OpacityValue(0.6, condition={"test": f"datum.path == {picked + 1}", "value": 1.0}),
        )
        .add_params(alt.selection_point(name=PICK, fields=["path"], toggle=False))
    )
    heads = PALETTE["heads"]
    places = {"token": 1, "biases": 1, "prediction": 2}
    # Token and bias nodes have no incoming edges, so their values are not sums.
    marks = alt.Chart(
        nodes.assign(
            told=[typeset(value, "+.3f") for value in nodes.value],
            parts=[
                "its own" if own else f"{typeset(read, '+.3f')} from nodes, {typeset(biases, '+.3f')} from biases"
                for own, read, biases in zip(
                    nodes["of its own"], nodes["from nodes"], nodes["from biases"], strict=True
                )
            ],
            end=[places.get(group, 0) for group in nodes.group],
        )
    ).encode(x=across, y=up)
    points = marks.mark_point(filled=True, size=150, opacity=1).encode(
        color=alt.Color(
            "group:N",
            scale=alt.Scale(domain=list(GROUPS), range=[heads[at] for at in (6, 0, 2, 3, 5, 4, 1)]),
            legend=alt.Legend(title=None, symbolLimit=0, columns=7, **LEGEND),
        ),
        shape=alt.Shape("group:N", scale=alt.Scale(domain=list(GROUPS), range=list(SHAPES)), legend=None),
        tooltip=["node:N", alt.Tooltip("told:N", title="value, logits"), alt.Tooltip("parts:N", title="the sum of")],
    )
    below = marks.transform_filter("datum.end == 1").mark_text(dy=17, fontSize=13)
    above = marks.transform_filter("datum.end == 2").mark_text(dy=-15, fontSize=14, fontWeight="bold")
    beside = marks.transform_filter("datum.end == 0").mark_text(dx=9, align="left", fontSize=11)
    names = (each.encode(text="short:N", color=alt.value("currentColor")) for each in (below, above, beside))
    unseen = _unseen_tokens(graph, drawn, question, across, up)
    return (
        layered(lines, points, *names, unseen)
        .resolve_scale(color="independent")
        .properties(height=520, usermeta={"embedOptions": {"renderer": "svg"}})
        .configure_axis(**INK)
    )


def _curves(ends: list[tuple[int, int]], nodes: pd.DataFrame) -> pd.DataFrame:
    """Return the points of the edges between drawn nodes; the column `path` is the edge's 1-based number."""
    curves, width = [], float(nodes.x.max() - nodes.x.min()) + 1
    for number, (sender, receiver) in enumerate(ends, start=1):
        start, end = nodes.loc[sender], nodes.loc[receiver]
        at = np.linspace(0, 1, STEPS)
        # Bend edges that pass other nodes of the same token, so that the edges can be distinguished.
        bend = 0.018 * width * max(0.0, end.y - start.y - 0.5) * (abs(end.x - start.x) < 1)
        curves.append(
            pd.DataFrame(
                {
                    "path": number,
                    "x": start.x + (end.x - start.x) * at - bend * np.sin(np.pi * at),
                    "y": start.y + (end.y - start.y) * at + _bow(start, end, nodes) * np.sin(np.pi * at),
                    "step": range(STEPS),
                }
            )
        )
    return pd.concat(curves or [pd.DataFrame(columns=["path", "x", "y", "step"])])


def _bias(node: Node) -> Node:
    return Node("bias", None, node.stack, None, -1)


def _bias_index(graph: AttributionGraph, node: Node) -> int:
    """Return the index of the bias node of a node's stack; bias nodes come after the graph's own nodes."""
    return len(graph.nodes) + STACKS.index(node.stack)


def _drawn_nodes(graph: AttributionGraph, drawn: PrunedGraph) -> list[Node]:
    """Return the drawn nodes of the graph, followed by the bias nodes with a drawn edge."""
    nodes = [graph.nodes[index] for index in drawn.nodes]
    stacks = {graph.nodes[index].stack for index in drawn.biased}
    return nodes + [Node("bias", None, stack, None, -1) for stack in STACKS if stack in stacks]


def _bow(start: pd.Series, end: pd.Series, nodes: pd.DataFrame) -> float:
    """Return the height by which to bend an edge to another token so that the edge avoids all nodes in between."""
    passed = nodes[(nodes.x > min(start.x, end.x) + 0.01) & (nodes.x < max(start.x, end.x) - 0.01)]
    if abs(end.x - start.x) < 1 or passed.empty:
        return 0.0
    way = ((passed.x - start.x) / (end.x - start.x)).to_numpy()
    gaps = passed.y.to_numpy() - start.y - (end.y - start.y) * way
    return max(BOWS, key=lambda bow: min(0.2, abs(gaps - bow * np.sin(np.pi * way)).min()))


def _unseen_tokens(
    graph: AttributionGraph, drawn: PrunedGraph, question: PathQuestion, across: alt.X, up: alt.Y
) -> alt.Chart:
    """Return a chart with the labels of columns whose token node is not drawn."""
    nodes = _drawn_nodes(graph, drawn)
    seen = {_column(node) for node in nodes if node.kind in ("token", "bias")}
    table = pd.DataFrame(
        [
            {"x": middle, "y": 0.0, "short": question.label("decoder" if decoder else "encoder", position)}
            for (decoder, position), middle in _columns(nodes).items()
            if (decoder, position) not in seen
        ],
        columns=["x", "y", "short"],
    )
    return (
        alt.Chart(table)
        .mark_text(dy=17, fontSize=13, fontStyle="italic")
        .encode(x=across, y=up, text="short:N", color=alt.value("currentColor"))
    )


def _columns(nodes: list[Node]) -> dict[tuple[bool, int], float]:
    """Return the centre of each token's column; a column is as wide as its widest row of heads."""
    seen = sorted((node for node in nodes if node.kind != "target"), key=_column)
    rows = Counter((_column(node), node.place and node.place.layer, node.attention) for node in seen)
    middles: dict[tuple[bool, int], float] = {}
    end = 0.0
    last: tuple[bool, int] | None = None
    for column in dict.fromkeys(map(_column, seen)):
        width = max(1.0, APART * max(count for (each, *_), count in rows.items() if each == column))
        # Leave a gap between the source and the prefix.
        end += 1.0 if last is not None and last[0] != column[0] else 0.0
        middles[column], end, last = end + width / 2, end + width, column
    return middles


def _column(node: Node) -> tuple[bool, int]:
    return node.stack == "decoder", node.position


def _group(node: Node) -> str:
    if node.attention is not None:
        return GROUPS[1 + KINDS.index(node.attention)]
    return {"bias": "biases", "target": "prediction"}.get(node.kind, node.kind)


def _short(node: Node, question: PathQuestion) -> str:
    if node.kind == "bias":
        return "biases"
    if node.kind == "token":
        return question.label(node.stack, node.position)
    if node.place is None:
        return question.token
    return str(node.place.layer + 1) if node.head is None else f"{node.place.layer + 1}.{node.head + 1}"
