"""The way in: a sentence, its translation, and all of its attention at a glance."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui.browser import glance  # noqa: E402
from pages.ui.captions import sharpest  # noqa: E402
from pages.ui.sentence import read_sentence, show_translation  # noqa: E402
from transformer.analysis.view import view_of  # noqa: E402
from transformer.trace import Kind  # noqa: E402

PAGES: dict[Kind, tuple[str, str, str]] = {
    "encoder": ("Encoder attention", "pages/encoder_attention.py", "English looks at English"),
    "decoder": ("Masked attention", "pages/masked_attention.py", "German looks back at German"),
    "cross": ("Cross attention", "pages/cross_attention.py", "German looks at English"),
}

reading = read_sentence()
show_translation(reading, large=True)
for column, (kind, (title, page, subtitle)) in zip(st.columns(3, gap="medium"), PAGES.items(), strict=True):
    with column:
        st.page_link(page, label=f"**{title}**", icon=":material/open_in_full:")
        st.caption(f"{subtitle}. Click a head to enlarge it.")
        if glance(reading.trace, reading.metrics(kind)):
            st.switch_page(page)
        st.markdown(sharpest(view_of(reading.trace, kind)))
st.caption(
    "Each small picture is one attention head: rows are the pieces that look, columns the pieces looked at, the first "
    "on top; the brighter, the more attention, from 0 to 1. Grey cells are masked: the decoder may not look ahead."
)
