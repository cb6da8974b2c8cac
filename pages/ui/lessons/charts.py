"""Altair charts for the figures of lessons, made from tables."""

import re
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS, LEGEND, labelled_axis
from pages.ui.charts.palette import FIRST, MASKED, PICKED, SECOND, ink_on, sequential
from pages.ui.charts.tables import numbered_labels
from pages.ui.lessons.tables import tile_rows
from transformer.lessons.tables import Table

# Sizes in pixels.
LABEL, TILE = 170, 44
# Matches everything before the layer number in a head's label.
HEAD = re.compile(".*, layer ")


def bars(table: pd.DataFrame, place: str, labels: Sequence[str] | None = None) -> alt.LayerChart:
    """Return a horizontal bar chart of values from 0 to 1, with percentages beside the bars.

    Bars are in the order of the table. Rows with equal labels have separate bars.

    Args:
        table: a column of labels, followed by one or two columns of values.
        place: the name of the label column.
        labels: the labels to show; None for the labels in the table, each with a number in front.
    """
    series = list(table.columns[1:])
    long = table.assign(at=range(1, len(table) + 1)).melt(["at", place], series, "of", "value")
    shown = numbered_labels(table[place].tolist()) if labels is None else labels
    axis, names = labelled_axis("bar_labels", shown, labelLimit=LABEL)
    colours = alt.Scale(domain=series, range=[FIRST, SECOND][: len(series)])
    legend = alt.Legend(title=None, columns=1, **LEGEND) if len(series) > 1 else None
    base = alt.Chart(long).encode(
        # Extend the axis beyond 1, so that a percentage fits beside the longest bar.
        x=alt.X(
            "value:Q",
            title=None if legend else series[0],
            scale=alt.Scale(domain=[0, 1.25], nice=False),
            axis=alt.Axis(format="%", values=[0, 0.5, 1], **AXIS),
        ),
        y=alt.Y("at:O", title=None, axis=axis),
        yOffset=alt.YOffset("of:N", sort=series) if legend else alt.Undefined,
        tooltip=[f"{place}:N", "of:N", alt.Tooltip("value:Q", format=".1%")],
    )
    bar = base.mark_bar().encode(color=alt.Color("of:N", scale=colours, legend=legend))
    text = base.mark_text(align="left", dx=4).encode(
        text=alt.Text("value:Q", format=".1%"), color=alt.value("currentColor")
    )
    return layer_charts(bar, text).add_params(names).properties(height=60 + (44 if legend else 30) * len(table))


def costs(table: Table) -> alt.LayerChart:
    """Return a bar chart of the log-probability that is lost when each word is hidden, largest loss first.

    A bar's label includes the word's share of the attention. The word marked in the table has a different colour.

    Args:
        table: the table of a figure of type "named".
    """
    words = [str(label) for label in table.labels]
    place, cost, share = (list(column) for column in table.columns.values())
    frame = pd.DataFrame(
        {
            "at": place,
            "word": words,
            "cost": cost,
            "ink": [SECOND if word == table.marked else FIRST for word in words],
            "says": [f"{each:.1f}" for each in cost],
            "share": [f"{each:.0%}" for each in share],
        }
    )
    axis, names = labelled_axis(
        "word_labels",
        [f"{number}: {word}, {each}" for number, word, each in zip(place, words, frame.share, strict=True)],
        labelLimit=LABEL,
    )
    base = alt.Chart(frame).encode(
        y=alt.Y("at:O", title=None, axis=axis),
        x=alt.X(
            "cost:Q",
            title="nats lost if the word is hidden (percentages: attention on it)",
            axis=alt.Axis(tickCount=5, **{**AXIS, "grid": True}),
        ),
        tooltip=["word:N", alt.Tooltip("cost:Q", format=".2f"), "share:N"],
    )
    bar = base.mark_bar().encode(color=alt.Color("ink:N", scale=None))
    text = base.mark_text(align="left", dx=4).encode(text="says:N", color=alt.value("currentColor"))
    return layer_charts(bar, text).add_params(names).properties(height=60 + 27 * len(words))


def with_points(chart: alt.Chart, points: pd.DataFrame, last: int) -> alt.LayerChart:
    """Return a learning curve with labelled points at some training steps.

    Args:
        chart: the learning curve.
        points: the points, with columns step, value and says (the label).
        last: the last training step of the curve.
    """
    layers = [chart]
    # Place labels to the right of early points and to the left of late ones, where the curve leaves room. Vega warns
    # about a layer without data, so an empty group gets no layer.
    for late, some in points.groupby(points.step > last / 2):
        base = alt.Chart(some).encode(x="step:Q", y="value:Q")
        layers += [
            base.mark_point(filled=True, size=70, opacity=1).encode(color=alt.value("currentColor")),
            base.mark_text(align="right" if late else "left", dx=-8 if late else 8, dy=-10 if late else 16).encode(
                text="says:N", color=alt.value("currentColor")
            ),
        ]
    return layer_charts(*layers).properties(height=chart.height)


def ranks(table: Table) -> alt.LayerChart:
    """Return a bar chart of the effect of removing each head, most important head first.

    The head marked in the table has a label and a different colour. If none is marked, the first head has a label.

    Args:
        table: the table of a figure of type "worth".
    """
    change, times = (list(column) for column in table.columns.values())
    frame = pd.DataFrame(
        {
            "at": range(1, len(change) + 1),
            "without": table.labels,
            "change": change,
            "times": times,
            "ink": [
                PICKED if label == table.marked else FIRST if float(each) > 0 else SECOND
                for label, each in zip(table.labels, change, strict=True)
            ],
        }
    )
    base = alt.Chart(frame).encode(
        x=alt.X(
            "at:Q",
            title="heads, most important first",
            scale=alt.Scale(domain=[0, len(change) + 1], nice=False),
            axis=alt.Axis(tickCount=6, **AXIS),
        )
    )
    bar = base.mark_bar(size=max(2, 420 // len(change))).encode(
        y=alt.Y(
            "change:Q", title="effect of removing the head, nats", axis=alt.Axis(tickCount=6, **{**AXIS, "grid": True})
        ),
        color=alt.Color("ink:N", scale=None),
        tooltip=[
            "without:N",
            alt.Tooltip("change:Q", format="+.3f"),
            alt.Tooltip("times:Q", title="probability multiplied by", format=".3f"),
        ],
    )
    at = table.labels.index(table.marked) if table.marked else 0
    label = alt.Chart(
        frame.iloc[[at]].assign(
            says=f"{HEAD.sub(r'head ', str(frame.without[at])).replace(', head ', '.')}: × {frame.times[at]:.3f}"
        )
    ).encode(x="at:Q", y="change:Q")
    point = label.mark_point(filled=True, size=90, opacity=1).encode(color=alt.value(PICKED))
    text = label.mark_text(align="left", dx=10, dy=22 if table.marked else -6).encode(
        text="says:N", color=alt.value("currentColor")
    )
    return layer_charts(bar, point, text).properties(height=380)


def tiles(table: Table) -> alt.LayerChart:
    """Return a chart with one tile per head and one row of tiles per layer.

    With one value per head, the tile's colour shows this value. With two values, a tile is coloured if the first value
    is larger than the second, and grey otherwise.

    Args:
        table: a table with one or two values from 0 to 1 per head. `Table.across` is the number of heads in a layer.
    """
    rows = tile_rows(table)
    shares = [np.array(column, dtype=np.float64) for column in table.columns.values()]
    at = np.arange(len(table.labels))
    frame = pd.DataFrame(
        {
            "row": at // table.across + 1,
            "head": at % table.across + 1,
            "name": table.labels,
            "share": shares[0],
            "says": [f"{100 * max(share[number] for share in shares):.0f}" for number in at],
            "more": shares[0] > shares[-1],
        }
    )
    number = "% of attention on the word" if len(shares) > 1 else f"{next(iter(table.columns))}, in %"
    title = f"head (its tile shows {number})"
    axis, names = labelled_axis("tile_labels", rows, labelLimit=LABEL)
    base = alt.Chart(frame).encode(
        x=alt.X("head:O", title=title, axis=alt.Axis(orient="bottom", labelAngle=0, **AXIS)),
        y=alt.Y("row:O", title=None, axis=axis),
        tooltip=["name:N", alt.Tooltip("says:N", title="%")],
    )
    if len(shares) > 1:
        fill = alt.condition("datum.more", alt.value(FIRST), alt.value(MASKED))
        ink = alt.condition("datum.more", alt.value("white"), alt.value("black"))
        tile = base.mark_rect(stroke="white", strokeWidth=2).encode(color=fill)
        text = base.mark_text().encode(text="says:N", color=ink)
    else:
        tile = base.mark_rect(stroke="white", strokeWidth=1).encode(
            color=alt.Color("share:Q", scale=sequential(), legend=None)
        )
        text = base.mark_text().encode(text="says:N", color=ink_on("share"))
    return (
        layer_charts(tile, text).add_params(names).properties(height=60 + len(rows) * (TILE if len(rows) < 10 else 25))
    )
