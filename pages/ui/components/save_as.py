"""Shows figures, each with a menu that saves the figure as a file. All figures of the app use this module.

The browser converts the figure on the screen (assets/figures/), so a figure and its file always match.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from attention_atlas.browser.token_labels import displayable
from attention_atlas.browser.wire import with_fields
from pages.ui.charts.enlargement import AltairChart, enlarge, enlarge_plot
from pages.ui.charts.matrix import PICK
from pages.ui.charts.specification import CompiledChart, FilledChart
from pages.ui.charts.tables import show_large_table, show_table
from pages.ui.components.bundle import component
from pages.ui.layout import roles
from pages.ui.state import session

draw_menu = component("figures/save_as")
TRANSPARENT = "rgba(0, 0, 0, 0)"
# A chart, or a function that builds one. The function's argument is True for a large chart, as in lecture mode. A large
# chart may show less content than the normal one.
AnyChart = AltairChart | FilledChart | Callable[[bool], AltairChart]
FILL_CONTAINER = {"width": "stretch", "height": "stretch"}


def figure_component(entry: str) -> Any:
    """Register a JavaScript figure and return a function that draws it. Lecture mode adds `lecture: true` to `data`."""
    draw_component = component(entry)

    def draw(*, data: Mapping[str, Any] | bytes, **options: Any) -> Any:
        if roles.is_lecture_mode():
            data = with_fields(data, lecture=True) if isinstance(data, bytes) else {**data, "lecture": True}
        return draw_component(data=data, **options)

    return draw


@contextmanager
def saveable(
    name: str, title: str, *, sentence: str | None = None, when: bool = True, label: str = "Save as"
) -> Iterator[None]:
    """Context manager that groups the elements of one figure, and then shows a "Save as" menu below them.

    Args:
        name: the name of the saved files, and of the figure's container on the page.
        title: the figure's caption in a saved file. Text after a semicolon is left out.
        sentence: the sentence to quote in the caption; None for the sentence that the page shows.
        when: whether to show the menu.
        label: the label of the menu, which distinguishes two menus that are side by side on a page.
    """
    with st.container(key=f"figure_{name}", gap="xxsmall"):
        yield
        if when:
            draw_menu(
                key=f"save_{name}",
                width="stretch",
                data={
                    "file": re.sub(r"\W+|_", "-", name),
                    "title": title.partition(";")[0].rstrip(".") + ".",
                    "sentence": displayable(session.quoted_text() if sentence is None else sentence),
                    "label": label,
                    "experiment": session.embedded_experiment(),
                },
            )


def show_altair(chart: AnyChart, key: str, alt: str, *, sentence: str | None = None, **options: Any) -> None:
    """Show an Altair chart as a figure. In lecture mode, the chart fills its container.

    Args:
        chart: the chart, or a function that builds the chart.
        key: the chart's Streamlit key.
        alt: a description of the chart. The part after a semicolon says where the values are listed, and is omitted in
            saved files.
        sentence: the sentence to quote in a saved file; None for the sentence that the page shows.
        options: further options for `st.altair_chart`.
    """
    large = roles.is_lecture_mode()
    if not isinstance(chart, FilledChart | AltairChart):
        chart = chart(large)
    if large:
        chart = replace(chart, large=True) if isinstance(chart, FilledChart) else enlarge(chart)
        options = {**options, **FILL_CONTAINER}
    with saveable(key, alt, sentence=sentence):
        compiled = chart if isinstance(chart, FilledChart) else CompiledChart(chart)
        # Streamlit calls only `to_dict`, so an object with this method is enough.
        st.altair_chart(cast("AltairChart", compiled), key=key, alt=alt, **{"width": "stretch", **options})


def show_clickable(chart: AnyChart, key: str, alt: str, clicked: Callable[[int, int], object], **options: Any) -> None:
    """Show a chart made by `matrix`. Clicking a cell calls `clicked` with the 0-based row and column, before the page's
    script runs again.
    """

    def picked() -> None:
        for cell in st.session_state[key].selection[PICK]:
            clicked(int(cell["row"]) - 1, int(cell["column"]) - 1)

    show_altair(chart, key, alt, on_select=picked, selection_mode=PICK, **options)


def show_plotly(figure: go.Figure, key: str, alt: str, *, sentence: str | None = None, **options: Any) -> None:
    """Show a Plotly figure; the arguments are as in `show_altair`, but `options` are for `st.plotly_chart`."""
    # Make the background transparent, because Plotly does not always update it when the user changes the theme.
    figure.update_layout(paper_bgcolor=TRANSPARENT, plot_bgcolor=TRANSPARENT)
    if roles.is_lecture_mode():
        figure, options = enlarge_plot(figure), {**options, **FILL_CONTAINER}
    with saveable(key, alt, sentence=sentence):
        st.plotly_chart(figure, key=key, alt=alt, **options)


def show_figure_table(
    table: pd.DataFrame, key: str, *, digits: int = 6, wrapped: Mapping[str, int] | None = None, words: str = ""
) -> None:
    """Show a table that is part of the main figure. In lecture mode, show it in a large font, or show `words` instead.

    Args:
        table: the table.
        key: the key of the table.
        digits: decimal places of floating-point numbers.
        wrapped: the width in pixels of each text column that wraps, by name.
        words: Markdown that replaces the table in lecture mode; if empty, the table is shown.
    """
    if not roles.is_lecture_mode():
        show_table(table, key, digits=digits, wrapped=wrapped)
    elif words:
        roles.figure_words().markdown(words)
    else:
        show_large_table(table, digits=digits)
