"""Pure functions that draw Altair heatmaps of small arrays, and list an attention map's weights in tables."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from attention_atlas.browser.labels import column_labels, row_labels
from pages.ui.charts.layers import layer_charts
from pages.ui.charts.palette import MASKED, PICKED, ink_on
from pages.ui.text.number_format import DECIMALS, rounded, typeset
from transformer.analysis.view import View


def cells(view: View, layer: int, head: int) -> pd.DataFrame:
    """Return a table of one head's attention weights, rounded as in tooltips and exports, with one row per cell.

    Returns:
        Columns: row and column (1-based positions), from and to (labels), and weight (four decimals, or "masked").
    """
    weights = rounded(view.weights[layer, head])
    rows, columns = np.indices(weights.shape).reshape(2, -1)
    froms, tos = np.array(row_labels(view.axes), dtype=object), np.array(column_labels(view.axes), dtype=object)
    shown = [
        f"{weight:.4f}" if allowed else "masked"
        for weight, allowed in zip(weights.ravel(), view.mask.ravel(), strict=True)
    ]
    return pd.DataFrame(
        {"row": rows + 1, "from": froms[rows], "column": columns + 1, "to": tos[columns], "weight": shown}
    )


def sums(view: View, layer: int, head: int, positions: Sequence[int], *, of_rows: bool) -> pd.DataFrame | None:
    """Sum one head's weights over the pinned rows or columns; return a table, or None if fewer than two are pinned.

    Args:
        view: the view of an attention kind.
        layer, head: the head, 0-based.
        positions: positions of the pinned tokens in the trace.
        of_rows: True to sum the pinned rows for each column, False to sum the pinned columns for each row.

    Returns:
        Columns: the 1-based position ("column" or "row"), the label ("to" or "from"), and the sum with four decimals.
            The name of the third column lists the pinned rows or columns. Weights are rounded as in `cells` before
            they are added.
    """
    axes = view.axes
    groups = axes.row_positions if of_rows else axes.column_positions
    pinned = [index for index, group in enumerate(groups) if set(group) & set(positions)]
    if len(pinned) < 2:
        return None
    weights = rounded(view.weights[layer, head])
    totals = weights[pinned].sum(axis=0) if of_rows else weights[:, pinned].sum(axis=1)
    side, others, labels = (
        ("rows", ("column", "to"), column_labels) if of_rows else ("columns", ("row", "from"), row_labels)
    )
    numbers = ", ".join(str(index + 1) for index in pinned)
    return pd.DataFrame(
        {
            others[0]: range(1, len(totals) + 1),
            others[1]: labels(axes),
            f"sum of {side} {numbers}": [f"{total:.4f}" for total in totals],
        }
    )


# Text around a chart has the page's text colour, because the theme's colour for charts is too faint on a projector.
INK: dict[str, Any] = {"labelColor": "currentColor", "titleColor": "currentColor"}
AXIS: dict[str, Any] = {"labelOverlap": False, "labelFlush": False, "ticks": False, "domain": False, **INK}
# The legend is short enough for a phone.
LEGEND: dict[str, Any] = {"orient": "bottom", "gradientThickness": 10, "gradientLength": 140, **INK}
# Maximum number of cells in an SVG chart. Larger charts use a canvas, which does not support "currentColor".
MAX_ELEMENTS = 2_000
# Maximum number of labels on an axis. With more rows or columns, only some are labelled.
MAX_LABELS = 24

# Sizes in pixels. A map with square cells, including row labels, is at most SQUARE wide (half the page width on a
# projector). Cells are between SMALLEST_CELL and LARGEST_CELL wide.
SQUARE, SMALLEST_CELL, LARGEST_CELL = 395, 3, 44
ROW_LABEL_WIDTH = 170

PICK = "pick"
OUTLINE = 0.3


def matrix(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    name: str,
    scale: alt.Scale,
    titles: tuple[str | None, str | None] = (None, None),
    mask: np.ndarray | None = None,
    legend: bool = True,
    marks: tuple[str, np.ndarray] | None = None,
    picked: tuple[int, int] | None = None,
    clickable: bool = False,
    square: bool = False,
    masked: str = "masked",
    ink: alt.ColorValue | None = None,
    outlined: bool = False,
) -> alt.Chart | alt.LayerChart:
    """Return a matrix as a heatmap with row 0 at the top. Labels need not be unique.

    Args:
        values: the matrix, [R, C].
        rows, columns: labels of the rows and the columns.
        name: what the values are, for the legend and the tooltip.
        scale: the colour scale.
        titles: the axis titles of the rows and the columns.
        mask: bool [R, C], False for masked cells, which have their own colour and show no number.
        legend: whether to show the colour legend.
        marks: a title for the tooltip, and a short text for each cell, [R, C].
        picked: 0-based row and column of a cell to frame; implies `clickable`.
        clickable: whether clicking a cell sets the selection `PICK`, which has 1-based fields row and column.
        square: whether cells are square, which gives the chart a fixed width.
        masked: the tooltip text of masked cells.
        ink: the text colour of `marks`; None for a colour that is legible on the scale `sequential(1.0)`.
        outlined: whether each cell has a faint outline, for colours that may be transparent.
    """
    at_rows, at_columns = np.indices(values.shape).reshape(2, -1)
    is_visible = np.ones(values.size, dtype=bool) if mask is None else mask.ravel()
    table = pd.DataFrame(
        {
            "row": at_rows + 1,
            "column": at_columns + 1,
            "value": values.ravel().astype(float),
            "shown": [
                typeset(value, DECIMALS) if there else masked
                for value, there in zip(values.ravel(), is_visible, strict=True)
            ],
            "from": np.array(rows, dtype=object)[at_rows],
            "to": np.array(columns, dtype=object)[at_columns],
        }
    )
    tooltip = [alt.Tooltip("from:N"), alt.Tooltip("to:N"), alt.Tooltip("shown:N", title=name)]
    if marks is not None:
        table["mark"] = np.where(is_visible, marks[1].ravel(), "")
        tooltip.append(alt.Tooltip("mark:N", title=marks[0]))
    row_title, column_title = titles
    painted = values.size > MAX_ELEMENTS
    plain = dict.fromkeys(INK, alt.Undefined) if painted else {}
    options: dict[str, Any] = {"usermeta": {"embedOptions": {"renderer": "canvas" if painted else "svg"}}}
    colour = alt.Color("value:Q", scale=scale, legend=alt.Legend(title=name, **{**LEGEND, **plain}) if legend else None)
    row_axis, row_names = labelled_axis(
        "row_labels",
        rows,
        values=label_positions(rows),
        labelLimit=90 if row_title is None else ROW_LABEL_WIDTH,
        **plain,
    )
    column_axis, column_names = labelled_axis(
        "column_labels", columns, values=label_positions(columns), orient="top", **label_angle(columns), **plain
    )
    base = alt.Chart(table).encode(
        x=alt.X("column:O", title=column_title, axis=column_axis), y=alt.Y("row:O", title=row_title, axis=row_axis)
    )
    clickable = clickable or picked is not None
    layers = [
        base.mark_rect(
            cursor="pointer" if clickable else "default",
            **({"stroke": MASKED, "strokeOpacity": OUTLINE} if outlined else {}),
        ).encode(
            color=colour if mask is None else alt.condition(alt.datum.shown == masked, alt.value(MASKED), colour),
            tooltip=tooltip,
        )
    ]
    if clickable:
        layers[0] = layers[0].add_params(alt.selection_point(name=PICK, fields=["row", "column"], toggle=False))
    # The height includes the labels and, if shown, the titles and the legend.
    height = (120 if row_title is None else 210 if legend else 130) + max(140, min(340, 22 * len(rows)))
    if marks is not None and len(columns) <= MAX_LABELS:
        layers.append(
            base.mark_text(fontSize=11).encode(text=alt.Text("mark:N"), color=ink or ink_on("value"), tooltip=tooltip)
        )
    if picked is not None:
        layers.append(
            base.transform_filter(f"datum.row == {picked[0] + 1} && datum.column == {picked[1] + 1}").mark_rect(
                fillOpacity=0, stroke=PICKED, strokeWidth=3
            )
        )
    # Add both parameters in one call, because each call copies the whole chart.
    layers[0] = layers[0].add_params(row_names, column_names)
    if square:
        names = min(ROW_LABEL_WIDTH, 6.5 * max(map(len, rows))) + (0 if row_title is None else 25)
        side = min(LARGEST_CELL, max(SMALLEST_CELL, int((SQUARE - names) / max(values.shape))))
        options |= {"width": side * len(columns), "height": side * len(rows), "autosize": "pad"}
    else:
        options["height"] = height
    return layers[0].properties(**options) if len(layers) == 1 else layer_charts(*layers, **options)


def heads_matrix(values: np.ndarray, *, name: str, scale: alt.Scale) -> alt.Chart | alt.LayerChart:
    """Return a clickable heatmap of values [L, H], one cell per head; a click sets the selection `PICK` of `matrix`."""
    layers, heads = (
        [f"{what} {number + 1}" for number in range(count)]
        for what, count in zip(("layer", "head"), values.shape, strict=True)
    )
    return matrix(values, layers, heads, name=name, scale=scale, clickable=True)


def labelled_axis(name: str, labels: Sequence[str | Sequence[str]], **options: Any) -> tuple[alt.Axis, alt.Parameter]:
    """Return an axis made by `label_axis`, and the Vega parameter with its labels, for the caller to add to the chart.

    Args:
        name: the name of the parameter.
        labels: one label per position; a sequence of strings is a multi-line label.
        options: further options for `altair.Axis`.
    """
    return label_axis(name, len(labels), **options), alt.param(name=name, value=list(labels))


def label_axis(name: str, count: int, **options: Any) -> alt.Axis:
    """Return an axis with positions 1 to `count` and labels from a Vega parameter.

    A parameter may contain any text, whereas a Vega expression rejects reserved words, even inside strings.

    Args:
        name: the name of the parameter.
        count: the number of positions.
        options: further options for `altair.Axis`.
    """
    places = {"labelExpr": f"{name}[datum.value - 1]", "values": list(range(1, count + 1))}
    return alt.Axis(**{**AXIS, **places, "labelLimit": 90, **options})


def label_angle(labels: Sequence[str]) -> dict[str, object]:
    """Return axis options that rotate column labels to prevent overlap.

    Short labels such as numbers are horizontal, a few longer labels are slanted, and many are vertical.
    """
    if max(map(len, labels)) <= 3:
        return {"labelAngle": 0}
    if len(labels) <= MAX_LABELS // 2:
        return {"labelAngle": -60, "labelAlign": "left"}
    return {"labelAngle": -90, "labelAlign": "left", "labelBaseline": "middle"}


def label_positions(labels: Sequence[str]) -> list[int]:
    """Return the 1-based positions of the labels to show: at most MAX_LABELS, evenly spaced."""
    return list(range(1, len(labels) + 1, -(-len(labels) // MAX_LABELS)))
