"""Tests that charts receive text from users and models as data, never inside an expression or markup."""

import json

import altair as alt
import numpy as np
import pandas as pd
import pytest

from pages.ui.attention.alignment import alignment_chart, coverage_chart
from pages.ui.charts.heatmap import heatmap
from pages.ui.charts.matrix import matrix
from pages.ui.inside_a_layer.cell import term_chart
from pages.ui.positional_encoding.addition import norm_chart
from tests.ui.driver import RESERVED, UNTRUSTED

TEXTS = [
    *RESERVED,
    *UNTRUSTED,
    "constructor",
    "__proto__",
    "datum.value",
    "data('x')",
    "']; alert(1); ['",
    "\\",
    "\\u0022",
]


def without_data(spec: object) -> object:
    """Return a Vega-Lite specification without its data values and without names derived from the data."""
    if isinstance(spec, dict):
        if isinstance(spec.get("value"), list) and set(spec) == {"name", "value"}:
            return {"name": spec["name"]}
        data = ("datasets", "data", "name", "views")
        return {key: without_data(value) for key, value in spec.items() if key not in data}
    return [without_data(each) for each in spec] if isinstance(spec, list) else spec


def matrices(labels: list[str]) -> list[alt.Chart | alt.LayerChart]:
    scale = alt.Scale(domain=[0, 1])
    drawn = []
    for start in range(0, len(labels), 60):
        named = labels[start : start + 60]
        values, few = np.zeros((len(named), len(named))), named[:9]
        nine, ones = values[:9, :9], np.full((9, 9), "1")
        drawn += [
            matrix(values, named, named, name="weight", scale=scale, titles=("from", "to")),
            matrix(nine, few, few, name="weight", scale=scale, picked=(1, 2), mask=nine == 0),
            matrix(nine, few, few, name="weight", scale=scale, marks=("of head", ones)),
        ]
    return drawn


def alignments(labels: list[str]) -> list[alt.LayerChart]:
    rows = np.eye(len(labels))[None] / 2
    special = np.zeros(len(labels), dtype=bool)
    return [alignment_chart(rows, special, labels, labels), coverage_chart(rows[0].sum(axis=0), labels)]


def norms(labels: list[str]) -> list[alt.Chart]:
    return [norm_chart(pd.DataFrame({"token": labels, "embedding": 1.0, "sum": 2.0}))]


def terms(labels: list[str]) -> list[alt.VConcatChart]:
    return [term_chart(pd.DataFrame({"column": labels, "weight": 0.5, "norm written": 1.0}))]


@pytest.mark.parametrize("charts", [matrices, alignments, norms, terms])
def test_chart_specification_does_not_depend_on_its_labels(charts):
    neutral = ["x" * len(text) for text in TEXTS]
    reported = ""
    for untrusted, plain in zip(charts(TEXTS), charts(neutral), strict=True):
        assert without_data(untrusted.to_dict()) == without_data(plain.to_dict())
        reported += json.dumps(untrusted.to_dict())
    assert all(json.dumps(text)[1:-1] in reported for text in TEXTS), "the labels are there, as data"


@pytest.mark.parametrize("text", TEXTS)
def test_plotly_labels_are_not_parsed_as_markup_or_formulas(text):
    figure = heatmap(np.zeros((2, 2)), titles=("row", "column"), name="v", rows=[text, "a"], columns=["b", text])
    for shown in (figure.layout.yaxis.ticktext[0], figure.layout.xaxis.ticktext[1]):
        assert not set("<>$") & set(shown)
    assert figure.data[0].hovertemplate == "row %{y}<br>column %{x}<br>v %{z:.4f}<extra></extra>"
