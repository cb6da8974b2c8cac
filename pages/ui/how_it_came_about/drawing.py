"""Pure functions that draw an attribution graph: layers from bottom to top, source on the left, prefix on the right."""

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS, INK, PICK
from pages.ui.charts.palette import PALETTE
from pages.ui.charts.series import series_colour
from pages.ui.how_it_came_about.question import PathQuestion
from pages.ui.how_it_came_about.tables import (
    GROUPS,
    NODE_SPACING,
    bias_index,
    bias_table,
    column_centres,
    column_of,
    drawn_nodes,
)
from pages.ui.text.number_format import typeset
from transformer.attribution.graph import AttributionGraph, PrunedGraph

# Point shapes of the node types in GROUPS.
SHAPES = ("square", "circle", "circle", "circle", "diamond", "triangle-up", "square")
# Number of points in the curve of an edge.
STEPS = 25
# Possible heights of an edge's curve, in order of preference.
BENDS = (0.0, 0.3, -0.3, 0.6, -0.6)
# Margin on the left and right of the graph, in units of x.
MARGIN = 0.7
# LABEL is the width in pixels of a node with a label such as "5.6" beside it. In charts narrower than NARROW
# pixels, the legend has two columns.
LABEL, NARROW = 32, 500
# Distance between the chart and its legend, in pixels; leaves room for token labels in a large font.
OFFSET = 20
FOR, AGAINST = "for", "against"
# Axis title that explains the labels of heads.
LABELS = "layer (head 6 of layer 5: “5.6”, or just “6”)"
# Column titles of effects in logits. An effect is the amount that a path adds, and that cutting the path removes.
PREDICTED_EFFECT, MEASURED_EFFECT = "adds, predicted", "adds, measured"


def graph_chart(
    graph: AttributionGraph,
    pruned: PrunedGraph,
    question: PathQuestion,
    nodes: pd.DataFrame,
    paths: pd.DataFrame,
    picked: int,
) -> alt.LayerChart:
    """Return a chart of nodes and edges. Clicking an edge sets the selection `PICK`, whose field `path` is the
    edge's 1-based number.

    Edges from bias nodes are dotted, and their numbers follow those of the paths. Width and colour show the measured
    effect of an edge that was cut, and the predicted effect of any other edge.

    Args:
        graph: the attribution graph.
        pruned: the part of the graph to draw.
        question: the predicted token to explain, and the labels of all tokens.
        nodes: a table made by `node_table`.
        paths: a table made by `path_table`, to which a column of measured effects may be added.
        picked: the 0-based number of the highlighted edge.
    """
    # Number the paths from 1, and continue the numbering with the edges from bias nodes, which cannot be cut.
    biases = bias_table(graph, pruned, question)
    ends = [
        *((graph.senders[edge], graph.receivers[edge]) for edge in pruned.edges),
        *((bias_index(graph, graph.nodes[index]), index) for index in pruned.biased),
    ]
    curves = _curves(ends, nodes)
    paths = pd.concat((paths, biases), ignore_index=True)
    measured = paths.reindex(columns=["measured"]).measured
    drawn_effect = measured.fillna(paths.predicted)
    signs = [f"{sign}, {'measured' if measured.notna().any() else 'predicted'}" for sign in (FOR, AGAINST)]
    tooltips = paths.assign(
        path=range(1, len(paths) + 1),
        dashed=np.arange(len(paths)) >= len(pruned.edges),
        size=drawn_effect.abs(),
        sign=np.where(drawn_effect >= 0, *signs),
        effect=[typeset(each, "+.3f") for each in paths.predicted],
        cut=["not cut" if np.isnan(each) else typeset(each, "+.3f") for each in measured],
    )
    curves = curves.merge(tooltips.drop(columns=["predicted"]), on="path")
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[nodes.x.min() - MARGIN, nodes.x.max() + MARGIN]))
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
    tooltip += [
        alt.Tooltip(f"{name}:N", title=title)
        for name, title in (("effect", PREDICTED_EFFECT), ("cut", MEASURED_EFFECT))
    ]
    lines = (
        alt.Chart(curves)
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
            color=series_colour("sign", dict(zip(signs, PALETTE["pair"], strict=True)), orient="top"),
            opacity=alt.OpacityValue(0.6, condition={"test": f"datum.path == {picked + 1}", "value": 1.0}),
        )
        .add_params(alt.selection_point(name=PICK, fields=["path"], toggle=False))
    )
    colours = [PALETTE["heads"][at] for at in (6, 0, 2, 3, 5, 4, 1)]
    places = {"token": 1, "biases": 1, "prediction": 2}
    # Token and bias nodes have no incoming edges, so their values are not sums.
    marks = alt.Chart(
        nodes.assign(
            told=[typeset(value, "+.3f") for value in nodes.value],
            parts=[
                "none" if own else f"{typeset(read, '+.3f')} from nodes, {typeset(biases, '+.3f')} from biases"
                for own, read, biases in zip(
                    nodes["from itself"], nodes["from nodes"], nodes["from biases"], strict=True
                )
            ],
            end=[places.get(group, 0) for group in nodes.group],
        )
    ).encode(x=across, y=up)
    points = marks.mark_point(filled=True, size=150, opacity=1).encode(
        color=series_colour(
            "group",
            dict(zip(GROUPS, colours, strict=True)),
            symbolLimit=0,
            offset=OFFSET,
            columns=alt.expr(f"width < {NARROW} ? 2 : 7"),
        ),
        shape=alt.Shape("group:N", scale=alt.Scale(domain=list(GROUPS), range=list(SHAPES)), legend=None),
        tooltip=[
            "node:N",
            alt.Tooltip("told:N", title="value, logits"),
            alt.Tooltip("parts:N", title="incoming edges"),
        ],
    )
    below = marks.transform_filter("datum.end == 1").mark_text(dy=17, fontSize=13)
    above = marks.transform_filter("datum.end == 2").mark_text(dy=-15, fontSize=14, fontWeight="bold")
    # If neighbouring heads are closer than LABEL, label a head with its number only, because the axis shows the layer.
    # Feed-forward networks are then not labelled.
    close = f"{NODE_SPACING / (nodes.x.max() - nodes.x.min() + 2 * MARGIN)} * width < {LABEL}"
    label = (
        f"datum.end > 0 || !({close}) ? datum.short : datum.group == 'feed-forward' ? '' : split(datum.short, '.')[1]"
    )
    beside = marks.transform_filter("datum.end == 0").mark_text(dx=9, align="left", fontSize=11)
    names = (
        each.encode(text=alt.Text(value=alt.expr(label)), color=alt.value("currentColor"))
        for each in (below, above, beside)
    )
    unseen = _unattached_labels(graph, pruned, question, across, up)
    return (
        layer_charts(lines, points, *names, unseen)
        .resolve_scale(color="independent")
        .properties(height=520, usermeta={"embedOptions": {"renderer": "svg"}})
        .configure_axis(**INK)
    )


def _curves(ends: list[tuple[int, int]], nodes: pd.DataFrame) -> pd.DataFrame:
    """Return the points of all edges; the column `path` is the 1-based number of the edge."""
    curves, width = [], float(nodes.x.max() - nodes.x.min()) + 1
    for number, (sender, receiver) in enumerate(ends, start=1):
        start, end = nodes.loc[sender], nodes.loc[receiver]
        at = np.linspace(0, 1, STEPS)
        # Bend an edge that passes other nodes of the same token, so that it does not cover other edges.
        bend = 0.018 * width * max(0.0, end.y - start.y - 0.5) * (abs(end.x - start.x) < 1)
        curves.append(
            pd.DataFrame(
                {
                    "path": number,
                    "x": start.x + (end.x - start.x) * at - bend * np.sin(np.pi * at),
                    "y": start.y + (end.y - start.y) * at + _bend(start, end, nodes) * np.sin(np.pi * at),
                    "step": range(STEPS),
                }
            )
        )
    return pd.concat(curves or [pd.DataFrame(columns=["path", "x", "y", "step"])])


def _bend(start: pd.Series, end: pd.Series, nodes: pd.DataFrame) -> float:
    """Return the curve height at which an edge between two tokens best avoids the nodes in between."""
    passed = nodes[(nodes.x > min(start.x, end.x) + 0.01) & (nodes.x < max(start.x, end.x) - 0.01)]
    if abs(end.x - start.x) < 1 or passed.empty:
        return 0.0
    way = ((passed.x - start.x) / (end.x - start.x)).to_numpy()
    gaps = passed.y.to_numpy() - start.y - (end.y - start.y) * way
    return max(BENDS, key=lambda bow: min(0.2, abs(gaps - bow * np.sin(np.pi * way)).min()))


def _unattached_labels(
    graph: AttributionGraph, pruned: PrunedGraph, question: PathQuestion, across: alt.X, up: alt.Y
) -> alt.Chart:
    """Return a chart layer with the labels of token columns whose token node is not drawn."""
    nodes = drawn_nodes(graph, pruned)
    seen = {column_of(node) for node in nodes if node.kind in ("token", "bias")}
    table = pd.DataFrame(
        [
            {"x": middle, "y": 0.0, "short": question.label("decoder" if decoder else "encoder", position)}
            for (decoder, position), middle in column_centres(nodes).items()
            if (decoder, position) not in seen
        ],
        columns=["x", "y", "short"],
    )
    return (
        alt.Chart(table)
        .mark_text(dy=17, fontSize=13, fontStyle="italic")
        .encode(x=across, y=up, text="short:N", color=alt.value("currentColor"))
    )
