"""Names, colours and point shapes for the three kinds of attention."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from pages.ui.charts.matrix import LEGEND
from pages.ui.charts.palette import SERIES
from transformer.config import Attention

NAMES: Mapping[Attention, str] = {"full": "Full", "local": "Local", "compressed": "Compressed"}
COLOURS: Mapping[Attention, str] = {"full": SERIES[2], "local": SERIES[3], "compressed": SERIES[1]}
# Shapes let colour-blind users tell the kinds of attention apart.
SHAPES: Mapping[Attention, str] = {"full": "circle", "local": "square", "compressed": "triangle-up"}


LEGEND_BELOW = alt.Legend(title=None, columns=3, **LEGEND)


def colour(legend: alt.Legend | None = LEGEND_BELOW) -> alt.Color:
    """Return the encoding that maps the "attention" column, which holds values of `NAMES`, to colours."""
    scale = alt.Scale(domain=list(NAMES.values()), range=list(COLOURS.values()))
    return alt.Color("attention:N", scale=scale, legend=legend)


def shape(legend: alt.Legend | None = LEGEND_BELOW) -> alt.Shape:
    """Return the encoding that maps the "attention" column, which holds values of `NAMES`, to point shapes."""
    scale = alt.Scale(domain=list(NAMES.values()), range=list(SHAPES.values()))
    return alt.Shape("attention:N", scale=scale, legend=legend)
