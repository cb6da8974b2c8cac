"""Tests charts in lecture mode: large labels, no fixed size, and an unchanged original chart."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pages.ui.about.learning_curve import QUALITY, learning_chart
from pages.ui.charts.enlargement import LARGE_TYPE, MAX_TOP_LABEL, VEGA_TYPE, enlarge, enlarge_plot
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import sequential

NAMES = ["one", "two", "three"]


def a_map():
    return matrix(
        np.eye(3),
        NAMES,
        NAMES,
        name="weight",
        scale=sequential(),
        titles=("from", "to"),
        square=True,
        picked=(1, 1),
        marks=("of head", np.full((3, 3), "8", dtype=object)),
    )


def test_map_in_lecture_mode_has_large_labels_and_no_fixed_size():
    chart = a_map()
    before, large = chart.to_json(), enlarge(chart).to_dict()
    assert chart.to_json() == before and not {"width", "height", "autosize"} & large.keys()
    assert {"width", "height", "autosize"} <= chart.to_dict().keys()
    cells, marks = large["layer"][:2]
    assert marks["mark"]["fontSize"] == VEGA_TYPE
    across, down = cells["encoding"]["x"], cells["encoding"]["y"]
    # Above the map there is room for labels, but not for an axis title.
    assert across["title"] is None and down["title"] is None and across["axis"]["labelLimit"] == MAX_TOP_LABEL
    assert down["axis"]["labelLimit"] > chart.to_dict()["layer"][0]["encoding"]["y"]["axis"]["labelLimit"]
    assert large["params"] == chart.to_dict()["params"], "names of rows, and what a click selects"


def test_plotly_figure_in_lecture_mode_has_large_labels():
    figure = go.Figure(go.Heatmap(z=[[0, 1]]), layout={"width": 300, "height": 200})
    large = enlarge_plot(figure)
    assert (figure.layout.width, figure.layout.height) == (300, 200) and large.layout.width is None
    assert large.layout.xaxis.tickfont.size == large.data[0].colorbar.tickfont.size == LARGE_TYPE


def test_tick_labels_at_the_corner_of_a_chart_do_not_overlap():
    """At the corner of a chart, the first labels of both axes are close together. A map has no such corner."""
    chart = learning_chart(pd.DataFrame({"step": [0, 1], "validation_chrf": [2.0, 3.0]}), QUALITY, "chrF")
    encoding = enlarge(chart).to_dict()["encoding"]
    assert all(encoding[side]["axis"]["labelPadding"] >= 9 for side in "xy")
    assert enlarge(a_map()).to_dict()["layer"][0]["encoding"]["x"]["axis"]["labelPadding"] == 2
