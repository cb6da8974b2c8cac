"""Every figure of the app is drawn through here: it gets a menu that saves it as a picture.

The browser takes the picture from what it shows (assets/figures/), so a figure and its file cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import plotly.graph_objects as go
import streamlit as st

from pages.ui.charts.compiled import CompiledChart, FilledChart
from pages.ui.charts.hall import AltairChart, for_hall, plot_for_hall
from pages.ui.components.bundle import component
from pages.ui.params.lecture import LectureParams
from pages.ui.state import session
from pages.ui.text.markup import visible

draw_menu = component("figures/save_as")
CLEAR = "rgba(0, 0, 0, 0)"
FILLING = {"width": "stretch", "height": "stretch"}


@contextmanager
def saveable(
    name: str, title: str, *, sentence: str | None = None, when: bool = True, label: str = "Save as"
) -> Iterator[None]:
    """What is drawn in this context is one figure, and has the menu below it.

    Args:
        name: of its files, and of its place on the page.
        title: what it shows, for its caption; what comes after a semicolon is about the page, and left out.
        sentence: that the caption quotes; None for what the page reads.
        when: whether there is a figure to save at the moment.
        label: of the menu, where two stand below each other.
    """
    with st.container(key=f"figure_{name}", gap="xxsmall"):
        yield
        if when:
            draw_menu(key=f"save_{name}", width="stretch", data={
                "file": re.sub(r"\W+|_", "-", name), "title": title.partition(";")[0].rstrip(".") + ".",
                "sentence": visible(session.quoted() if sentence is None else sentence), "label": label,
            })


def show_altair(
    chart: AltairChart | FilledChart, key: str, alt: str, *, sentence: str | None = None, **options: Any,
) -> None:
    """Draw a chart of Altair as a figure; in a lecture it fills what its place has room for.

    Args:
        chart: to draw.
        key: of the chart.
        alt: what it shows; after a semicolon, where its numbers are.
        sentence: as of `saveable`.
        options: of `st.altair_chart`.
    """
    if session.params(LectureParams).lecture:
        chart = replace(chart, hall=True) if isinstance(chart, FilledChart) else for_hall(chart)
        options = {**options, **FILLING}
    with saveable(key, alt, sentence=sentence):
        drawn = chart if isinstance(chart, FilledChart) else CompiledChart(chart)
        # Streamlit asks a chart for nothing but its specification.
        st.altair_chart(cast("AltairChart", drawn), key=key, alt=alt, **{"width": "stretch", **options})


def show_plotly(figure: go.Figure, key: str, alt: str, *, sentence: str | None = None, **options: Any) -> None:
    """Draw a figure of Plotly; arguments as those of `show_altair`."""
    # A theme that is switched does not always come to the background; the page's shows through, which does change.
    figure.update_layout(paper_bgcolor=CLEAR, plot_bgcolor=CLEAR)
    if session.params(LectureParams).lecture:
        figure, options = plot_for_hall(figure), {**options, **FILLING}
    with saveable(key, alt, sentence=sentence):
        st.plotly_chart(figure, key=key, alt=alt, **options)
