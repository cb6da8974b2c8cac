"""Compiled charts: Streamlit draws them as it draws the charts themselves, the first time and any other."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


def page(kind: str) -> None:
    from functools import partial

    import altair as alt
    import numpy as np
    import pandas as pd
    import streamlit as st

    from pages.ui.charts.compiled import compiled

    def build(values: np.ndarray, names: list[str]) -> alt.Chart | alt.LayerChart | alt.HConcatChart | alt.FacetChart:
        table = pd.DataFrame({"at": range(len(values)), "value": values, "name": names})
        bars = alt.Chart(table).mark_bar().encode(x="at:O", y="value:Q", tooltip=["name:N"])
        line = alt.Chart(pd.DataFrame({"value": [1.0]})).mark_rule().encode(y="value:Q")
        return {
            "one": lambda: bars, "layers": lambda: alt.LayerChart(layer=[bars, line]),
            "side by side": lambda: bars | line, "facets": lambda: bars.facet("name:N"),
        }[kind]()

    one = partial(build, np.array([0.5, 2.0]), ["if", "datum"])
    st.altair_chart(one(), key="chart")
    st.altair_chart(compiled(one()), key="compiled")
    for number in range(2):
        st.altair_chart(compiled(partial(build, np.array([0.5, 2.0]), ["if", "datum"])), key=f"built {number}")
    st.altair_chart(compiled(partial(build, np.array([0.5, 3.0]), ["if", "datum"])), key="another")
    st.text(f"{compiled(one) is compiled(one)} {compiled(one).size > 30_000}")


@pytest.mark.parametrize("kind", ["one", "layers", "side by side", "facets"])
def test_it_is_drawn_as_the_chart_itself(kind):
    app = AppTest.from_function(page, kwargs={"kind": kind}, default_timeout=60).run()
    assert not app.exception
    first, *same, another = [
        (each.proto.spec, [(part.name, part.data.data) for part in each.proto.datasets])
        for each in app.get("vega_lite_chart")
    ]
    assert same == [first] * 3 and another != first
    assert app.text[0].value == "True True"
