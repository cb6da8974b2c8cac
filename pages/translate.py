"""The way in: a sentence, its translation, and all of its attention at a glance."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui.browser import glance  # noqa: E402
from pages.ui.captions import sharpest  # noqa: E402
from pages.ui.links import PAGES  # noqa: E402
from pages.ui.sentence import read_sentence, show_translation  # noqa: E402

reading = read_sentence()
show_translation(reading, large=True)
for column, (kind, page) in zip(st.columns(3, gap="medium"), PAGES.items(), strict=True):
    with column:
        st.page_link(page.path, label=f"**{page.title}**", icon=":material/open_in_full:")
        st.caption(f"{page.subtitle}. Click a head to enlarge it.")
        metrics = reading.metrics(kind)
        if glance(reading.trace, metrics):
            st.switch_page(page.path)
        st.markdown(sharpest(metrics))
st.caption(
    "Each small picture is one attention head: rows are the pieces that look, columns the pieces looked at, the first "
    "on top; the brighter, the more attention, from 0 to 1. Grey cells are masked: the decoder may not look ahead."
)
