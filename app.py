"""Attention Atlas: start with `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st

from pages.ui.router import navigate

st.set_page_config(page_title="Attention Atlas", page_icon="assets/images/icon.png", layout="wide")
navigate()
