"""Tests that Streamlit renders compiled charts like the originals, even when the same chart is shown again."""

import json

import pytest
from streamlit.testing.v1 import AppTest


def chart_page(kind: str) -> None:
    import altair as alt
    import pandas as pd
    import streamlit as st

    from pages.ui.charts.specification import CompiledChart

    table = pd.DataFrame({"at": range(2), "value": [0.5, 2.0], "name": ["if", "datum"]})
    bars = alt.Chart(table).mark_bar().encode(x="at:O", y="value:Q", tooltip=["name:N"])
    line = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule().encode(y="value:Q")
    chart = {
        "one": lambda: bars,
        "layers": lambda: alt.LayerChart(layer=[bars, line]),
        "side by side": lambda: bars | line,
        "facets": lambda: bars.facet("name:N"),
    }[kind]()
    st.altair_chart(chart, key="chart")
    for number in range(2):
        st.altair_chart(CompiledChart(chart), key=f"compiled {number}")


def form_page(large: bool) -> None:
    import altair as alt
    import pandas as pd
    import streamlit as st

    from pages.ui.charts.enlargement import enlarge
    from pages.ui.charts.specification import FilledChart

    def form(count: int, bars_of: object = alt.NamedData("bars"), line_of: object = alt.NamedData("line")):
        base = (
            alt.Chart(bars_of)
            .mark_bar()
            .encode(x=alt.X("at:O", axis=alt.Axis(labelExpr="labels[datum.value]", values=list(range(count)))))
        )
        line = alt.Chart(line_of).mark_rule().encode(y="value:Q")
        return alt.LayerChart(layer=[base.encode(y="value:Q"), line], height=100 * count)

    for values in ([0.5, 2.0], [0.25, 1.0], [1.0, 2.0, 3.0], [0.5, 2.0]):
        bars = pd.DataFrame({"at": range(len(values)), "value": values})
        line = pd.DataFrame({"value": [max(values)]})
        labels = [f"if {value}" for value in values]
        whole = form(len(values), bars, line).add_params(alt.param(name="labels", value=labels))
        st.altair_chart(enlarge(whole) if large else whole, key=f"whole {values}{len(st.session_state)}")
        filled = FilledChart(form, (len(values),), {"bars": bars, "line": line}, {"labels": labels}, large=large)
        st.altair_chart(filled, key=f"filled {values}{len(st.session_state)}")


def drawn(app: AppTest) -> list[tuple[object, list[tuple[str, bytes]]]]:
    app.run()
    assert not app.exception
    return [
        (json.loads(each.proto.spec), [(part.name, part.data.data) for part in each.proto.datasets])
        for each in app.get("vega_lite_chart")
    ]


@pytest.mark.parametrize("kind", ["one", "layers", "side by side", "facets"])
def test_compiled_chart_is_rendered_like_the_original(kind):
    first, *compiled = drawn(AppTest.from_function(chart_page, kwargs={"kind": kind}, default_timeout=60))
    assert compiled == [first] * 2


@pytest.mark.parametrize("large", [False, True])
def test_filled_chart_template_is_rendered_like_the_whole_chart(large):
    charts = drawn(AppTest.from_function(form_page, kwargs={"large": large}, default_timeout=60))
    whole, filled = charts[::2], charts[1::2]
    assert filled == whole
    assert whole[3] == whole[0] and whole[1] != whole[0] != whole[2]
