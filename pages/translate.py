"""The way in: a sentence, its translation, and all of its attention at a glance."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui import figures, state  # noqa: E402
from pages.ui.captions import sharpest  # noqa: E402
from pages.ui.sentence import read_sentence, show_translation  # noqa: E402
from transformer.analysis.view import view_of  # noqa: E402
from transformer.trace import Kind, Trace  # noqa: E402

PAGES = {
    "encoder": ("Encoder attention", "pages/encoder_attention.py", "English looks at English"),
    "decoder": ("Masked attention", "pages/masked_attention.py", "German looks back at German"),
    "cross": ("Cross attention", "pages/cross_attention.py", "German looks at English"),
}


def show_glance(trace: Trace, kind: Kind, title: str, page: str) -> None:
    """All heads of a kind; a click opens one on its own page."""
    view = view_of(trace, kind)
    chart = figures.overview(view, None, scale=figures.FIXED, cell=40)
    picked = st.altair_chart(
        chart, key=f"glance_{kind}", width="stretch", on_select="rerun", selection_mode=figures.PICK,
        alt=f"{title}: small maps of all heads, layers down and heads across.",
    )
    selection = picked.selection[figures.PICK]
    if selection:
        state.choose(int(selection[0]["layer"]), int(selection[0]["head"]))
        st.switch_page(page)
    st.markdown(sharpest(view))


reading = read_sentence()
show_translation(reading, large=True)
for column, (kind, (title, page, subtitle)) in zip(st.columns(3, gap="medium"), PAGES.items(), strict=True):
    with column:
        st.page_link(page, label=f"**{title}**", icon=":material/open_in_full:")
        st.caption(f"{subtitle}. Click a head to enlarge it.")
        show_glance(reading.trace, kind, title, page)
st.caption(
    "Each small picture is one attention head: rows are the pieces that look, columns the pieces looked at, the first "
    "on top; the brighter, the more attention, from 0 to 1. Grey cells are masked: the decoder may not look ahead."
)
