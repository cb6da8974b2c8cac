"""Pure functions that draw a diagram of a sub-layer with a residual connection and a layer norm."""

import altair as alt

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.palette import FIRST, SECOND

# Nodes of the diagram, from left to right. The residual connection runs from the first node to "+".
NODES = {
    "pre": ("x", "LayerNorm", "sub-layer", "+", "x, next"),
    "post": ("x", "sub-layer", "+", "LayerNorm", "x, next"),
}
WIDE_NODES, HALF_WIDTH = ("LayerNorm", "sub-layer"), 0.41


def diagram(place: str) -> alt.LayerChart:
    """Return the diagram of a pre-norm or post-norm sub-layer; `place` is "pre" or "post"."""
    stations = NODES[place]
    added = stations.index("+")
    boxes = alt.InlineData(
        [
            {"x": index - HALF_WIDTH, "x2": index + HALF_WIDTH, "y": -0.3, "y2": 0.3, "what": name}
            for index, name in enumerate(stations)
            if name in WIDE_NODES
        ]
    )
    words = alt.InlineData([{"x": index, "y": 0, "word": name} for index, name in enumerate(stations)])
    ends = [(HALF_WIDTH if name in WIDE_NODES else 0.3 if name == "x, next" else 0.15) for name in stations]
    arrows = [
        {"x": index + ends[index], "x2": index + 1 - ends[index + 1], "y": 0, "y2": 0}
        for index in range(len(stations) - 1)
    ]
    # Draw the residual connection above the nodes, from the first node to the addition.
    around = alt.InlineData(
        [
            {"x": 0, "x2": 0, "y": 0.2, "y2": 0.75},
            {"x": 0, "x2": added, "y": 0.75, "y2": 0.75},
            {"x": added, "x2": added, "y": 0.75, "y2": 0.2},
        ]
    )
    heads = alt.InlineData(
        [*({"x": arrow["x2"] - 0.04, "y": 0, "angle": 90} for arrow in arrows), {"x": added, "y": 0.22, "angle": 180}]
    )
    name = alt.InlineData([{"x": added / 2, "y": 0.88, "word": "residual connection"}])
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.2, len(stations) - 0.65]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.5, 1.0]))
    lines = [
        alt.Chart(each).mark_rule(color="currentColor", strokeWidth=1.5).encode(x=x, y=y, x2="x2", y2="y2")
        for each in (alt.InlineData(arrows), around)
    ]
    return layer_charts(
        *lines,
        alt.Chart(heads)
        .mark_point(shape="triangle", filled=True, size=70, color="currentColor", opacity=1)
        .encode(x=x, y=y, angle=alt.Angle("angle:Q", scale=None)),
        alt.Chart(boxes)
        .mark_rect(cornerRadius=6, opacity=0.3)
        .encode(
            x=x,
            y=y,
            x2="x2",
            y2="y2",
            color=alt.Color("what:N", legend=None, scale=alt.Scale(domain=list(WIDE_NODES), range=[SECOND, FIRST])),
        ),
        *(
            alt.Chart(each).mark_text(fontSize=13, color="currentColor").encode(x=x, y=y, text="word:N")
            for each in (words, name)
        ),
        height=170,
    )
