"""Attention Atlas: start with `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st

from pages.ui.router import navigate

st.set_page_config(page_title="Attention Atlas", page_icon="assets/images/icon.png", layout="wide")
# Less empty space above the first line: on a projector every pixel of a map counts.
st.html("<style>.stMainBlockContainer { padding-top: 4.5rem; }</style>")
navigate()
