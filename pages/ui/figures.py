"""Charts of attention: all heads at a glance, and one head large. Pure: a view in, a chart out."""

from __future__ import annotations

import json

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.colours import MASKED, SCALE, picture
from pages.ui.plain import group_label, piece_label
from transformer.analysis.view import View

FROM = "from: the {} that looks"
TO = "to: the {} looked at"
PICK = "pick"
SCALES = (FIXED, EACH_HEAD, SQUARE_ROOT) = ("0 to 1", "each head its own", "square root")
SCALE_MEANS = {
    FIXED: "0 to 1", EACH_HEAD: "0 to the largest weight of this head", SQUARE_ROOT: "0 to 1, by the square root",
}
# The colour of the text around the chart, whatever the theme; the theme's own for charts is too faint for a hall.
INK = {"labelColor": "currentColor", "titleColor": "currentColor"}
AXIS = {
    "labelFontSize": 13, "titleFontSize": 14, "labelOverlap": False, "labelFlush": False, "ticks": False,
    "domain": False, **INK,
}
# Up to so many rows and columns the cells have room for their numbers, and all labels for themselves.
CELL_NUMBERS = 14
# Pixels that a number needs from side to side.
NUMBER_WIDTH = 27
MOST_LABELS = 44
# Pixels of a chart's height that its labels take from the cells.
LABELS_ABOVE = 130
TITLE_ABOVE = 62


def row_labels(view: View) -> list[str]:
    """Labels of the queries; a decoder row names what it reads and what it predicts."""
    labels = [group_label(group, view.row_text, words=view.words) for group in view.rows]
    if view.predicted is None:
        return labels
    return [f"in: {read} → out: {output_label(view, row)}" for row, read in enumerate(labels)]


def output_label(view: View, row: int) -> str:
    """What the pieces of a decoder row predict."""
    return "".join(piece_label(piece, view.row_text) for piece in view.predicted[row])


def column_labels(view: View) -> list[str]:
    """Labels of the keys."""
    return [group_label(group, view.column_text, words=view.words) for group in view.columns]


def scaled(weights: np.ndarray, scale: str) -> np.ndarray:
    """Weights of one head as values between 0 and 1 on the colour scale that the reader chose."""
    if scale == SQUARE_ROOT:
        return np.sqrt(weights)
    if scale == EACH_HEAD:
        return weights / max(float(weights.max()), 1e-12)
    return weights


def cells(view: View, layer: int, head: int) -> pd.DataFrame:
    """One head's map, a row a cell: what a figure, its hover text, its table and an export all show.

    Returns:
        Columns row and column (positions, from 1), from and to (labels), and weight: four decimals, or "masked".
    """
    weights = view.weights[layer, head]
    rows, columns = np.indices(weights.shape).reshape(2, -1)
    froms, tos = np.array(row_labels(view), dtype=object), np.array(column_labels(view), dtype=object)
    shown = [
        f"{weight:.4f}" if allowed else "masked"
        for weight, allowed in zip(weights.ravel(), view.mask.ravel(), strict=True)
    ]
    return pd.DataFrame(
        {"row": rows + 1, "from": froms[rows], "column": columns + 1, "to": tos[columns], "weight": shown}
    )


def heatmap(view: View, layer: int, head: int, *, scale: str) -> alt.LayerChart:
    """One head, large.

    Args:
        view: what is looked at.
        layer, head: which, from 0.
        scale: one of SCALES.
    """
    table = cells(view, layer, head)
    table["colour"] = scaled(view.weights[layer, head], scale).ravel().astype(float)
    table["value"] = view.weights[layer, head].ravel().astype(float)
    size = "word" if view.words else "piece"
    count_rows, count_columns = view.mask.shape
    step = max(20 if count_rows <= MOST_LABELS else 8, min(40, 560 // count_rows))
    x = alt.X(
        "column:O", title=TO.format(size),
        axis=alt.Axis(
            orient="top", labelExpr=_labels(column_labels(view)), labelAngle=-60, labelLimit=120, labelAlign="left",
            titlePadding=6, values=_thinned(count_columns, MOST_LABELS), **AXIS,
        ),
        scale=alt.Scale(paddingInner=0.02, paddingOuter=0),
    )
    y = alt.Y(
        "row:O", title=FROM.format(size),
        axis=alt.Axis(
            labelExpr=_labels(row_labels(view)), labelLimit=230, titlePadding=8,
            values=_thinned(count_rows, MOST_LABELS), **AXIS,
        ),
        scale=alt.Scale(paddingInner=0.02, paddingOuter=0),
    )
    base = alt.Chart(table).encode(
        x=x, y=y,
        tooltip=[
            alt.Tooltip("from:N", title="from"), alt.Tooltip("to:N", title="to"),
            alt.Tooltip("weight:N"), alt.Tooltip("row:Q"), alt.Tooltip("column:Q"),
        ],
    )
    seen = base.transform_filter("datum.weight !== 'masked'").mark_rect().encode(
        color=alt.Color(
            "colour:Q",
            scale=alt.Scale(domain=[0, 1], range=list(SCALE), interpolate="rgb"),
            legend=_legend(view.weights[layer, head], scale),
        )
    )
    layers: list[alt.Chart] = [seen]
    if not view.mask.all():
        masked = base.transform_filter("datum.weight === 'masked'")
        layers.append(masked.mark_rect(color=MASKED, opacity=0.28))
        # Hatching: a diagonal through every masked cell.
        layers.append(masked.mark_rule(color=MASKED, strokeWidth=1).encode(
            x=alt.X("column:O", bandPosition=0), x2=alt.X2("column", bandPosition=1),
            y=alt.Y("row:O", bandPosition=1), y2=alt.Y2("row", bandPosition=0),
        ))
    if max(count_rows, count_columns) <= CELL_NUMBERS:
        numbers = base.transform_filter("datum.weight !== 'masked'").mark_text(
            fontSize=12, opacity=alt.expr(f"bandwidth('x') < {NUMBER_WIDTH} ? 0 : 1")
        ).encode(
            text=alt.Text("value:Q", format=".2f"),
            color=alt.condition("datum.colour > 0.6", alt.value("#0b1020"), alt.value("#ffffff")),
        )
        layers.append(numbers)
    return alt.layer(*layers).properties(height=step * count_rows + LABELS_ABOVE)


def overview(view: View, chosen: tuple[int, int] | None, *, scale: str, cell: int = 46) -> alt.LayerChart:
    """All layers by heads, each a small map in the colours of the large one; the chosen one is framed.

    A click selects `PICK`, with fields `layer` and `head`, both counted from 1.

    Args:
        view: what is looked at.
        chosen: layer and head to frame, from 0; None frames none.
        scale: one of SCALES.
        cell: height of a small map, pixels.
    """
    table = pd.DataFrame([
        {
            "layer": one_layer + 1, "head": one_head + 1,
            "picture": picture(scaled(view.weights[one_layer, one_head], scale), view.mask),
            "chosen": (one_layer, one_head) == chosen,
        }
        for one_layer in range(view.layers) for one_head in range(view.heads)
    ])
    gaps = alt.Scale(padding=0.1)
    base = alt.Chart(table).encode(
        x=alt.X("head:O", title="head", axis=alt.Axis(orient="top", labelAngle=0, **AXIS), scale=gaps),
        y=alt.Y("layer:O", title="layer", axis=alt.Axis(**AXIS), scale=gaps),
    )
    pictures = base.mark_image(
        width=alt.expr("bandwidth('x')"), height=alt.expr("bandwidth('y')"), aspect=False, smooth=False,
        cursor="pointer",
    ).encode(
        url="picture:N",
        tooltip=[alt.Tooltip("layer:O"), alt.Tooltip("head:O")],
    ).add_params(alt.selection_point(name=PICK, fields=["layer", "head"], toggle=False))
    frame = base.transform_filter("datum.chosen").mark_rect(
        filled=False, stroke="#f97316", strokeWidth=3, cornerRadius=2
    )
    return alt.layer(pictures, frame).properties(height=cell * view.layers + TITLE_ABOVE)


def _thinned(count: int, most: int) -> list[int]:
    """Positions to label, evenly spaced and at most `most` of them, from 1."""
    return list(range(1, count + 1, -(-count // most)))


def _labels(labels: list[str]) -> str:
    """A Vega expression: the label of position `datum.value`. JSON strings are string literals of that language."""
    return f"{json.dumps(labels)}[datum.value - 1]"


def _legend(weights: np.ndarray, scale: str) -> alt.Legend:
    """Ticks named by the weight that each colour stands for, on whatever scale."""
    weight = {SQUARE_ROOT: "datum.value * datum.value", EACH_HEAD: f"datum.value * {weights.max():.6f}"}
    return alt.Legend(
        title="weight", values=[0, 0.25, 0.5, 0.75, 1], orient="right",
        labelExpr=f"format({weight.get(scale, 'datum.value')}, '.2f')",
        gradientLength=180, gradientThickness=14, labelFontSize=12, titleFontSize=13,
        **INK,
    )
