"""Attention Atlas: start with `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st

from pages.ui.router import navigate

st.set_page_config(page_title="Attention Atlas", page_icon="assets/images/icon.png", layout="wide")
# On a projector: less empty space above the first line, because every pixel of a map counts; the words of Plotly's
# figures and of what is chosen in a row of buttons in the colour of all text, because the theme's own are too faint.
st.html("""<style>
.stMainBlockContainer { padding-top: 4.5rem; }
.stPlotlyChart :is(.xtick, .ytick, .infolayer, .bars) text { fill: currentColor !important; }
[data-variant=segmented_control][data-selected=true] { color: inherit !important; }
</style>""")
navigate()
