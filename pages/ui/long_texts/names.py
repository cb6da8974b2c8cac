"""Names, colours and point shapes of the three kinds of attention."""

from collections.abc import Mapping

import altair as alt

from pages.ui.charts.matrix import LEGEND
from pages.ui.charts.palette import SERIES
from transformer.config import Attention

NAMES: Mapping[Attention, str] = {"full": "Full", "local": "Local", "compressed": "Compressed"}
COLOURS: Mapping[Attention, str] = {"full": SERIES[2], "local": SERIES[3], "compressed": SERIES[1]}
# Point shapes let colour-blind users tell the kinds of attention apart.
SHAPES: Mapping[Attention, str] = {"full": "circle", "local": "square", "compressed": "triangle-up"}


LEGEND_BELOW = alt.Legend(title=None, columns=3, **LEGEND)


def colour(legend: alt.Legend | None = LEGEND_BELOW) -> alt.Color:
    """Return the Altair encoding that gives each kind of attention a colour. The chart's "attention" column must
    contain values of `NAMES`.
    """
    scale = alt.Scale(domain=list(NAMES.values()), range=list(COLOURS.values()))
    return alt.Color("attention:N", scale=scale, legend=legend)


def shape(legend: alt.Legend | None = LEGEND_BELOW) -> alt.Shape:
    """Return the Altair encoding that gives each kind of attention a point shape. The chart's "attention" column
    must contain values of `NAMES`.
    """
    scale = alt.Scale(domain=list(NAMES.values()), range=list(SHAPES.values()))
    return alt.Shape("attention:N", scale=scale, legend=legend)
