"""One kind of attention, to be looked at head by head; the same on three pages."""

from __future__ import annotations

import streamlit as st

from pages.ui import figures, state
from pages.ui.archive import send_archive
from pages.ui.browser import TITLES, attention_browser
from pages.ui.captions import how_to_read, sharpest, what_to_look_for
from pages.ui.inside.inspection import CELL, Inspection
from pages.ui.sentence import Reading, read_sentence, show_translation
from transformer.analysis.view import view_of
from transformer.trace import Kind


def attention_page(kind: Kind, subtitle: str) -> Reading:
    """Draw the page of a kind; returns what was read.

    Args:
        kind: "encoder", "decoder" or "cross".
        subtitle: what it is, in one plain sentence.
    """
    reading = read_sentence()
    show_translation(reading)
    st.markdown(f"**{TITLES[kind]}:** {subtitle}")
    metrics = reading.metrics(kind)
    choice = attention_browser(reading.trace, metrics)
    view = view_of(reading.trace, kind, words=choice.words, special=not choice.hide)
    st.markdown(what_to_look_for(view, choice.layer, choice.head))
    st.caption(f"{how_to_read(view)} {sharpest(metrics)}")
    with st.expander(f"The numbers of layer {choice.layer + 1}, head {choice.head + 1}"):
        st.dataframe(figures.cells(view, choice.layer, choice.head), hide_index=True, height=320)
        for positions, of_rows in ((choice.rows, True), (choice.columns, False)):
            table = figures.sums(view, choice.layer, choice.head, positions, of_rows=of_rows)
            if table is not None:
                st.dataframe(table, hide_index=True)
    if st.button(
        "How is this cell computed?", key=f"{kind}_inside", icon=":material/account_tree:",
        help="Opens “Inside a layer” at this head: at the pinned row and column, or at its strongest link.",
        on_click=state.keep, args=(Inspection,), kwargs={"part": CELL, "kind": kind},
    ):
        st.switch_page("pages/inside_a_layer.py")
    send_archive(reading, kind)
    return reading
