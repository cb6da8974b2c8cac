"""The "Long texts" page: how much memory the attention maps of long texts need, and two kinds of attention that need
less.

The page also shows how much quality local and compressed attention lose.
"""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.long_texts.text_maps import pick_map
from pages.ui.params.long_texts import LongTextsParams
from pages.ui.params.pages import PAGES
from pages.ui.shell.parts import pick_part
from pages.ui.text.glossary import explain

PAGE = PAGES["long_texts"]

with st.container(horizontal=True, vertical_alignment="bottom"):
    part = pick_part(PAGE.name, LongTextsParams)
    if part == "map":
        pick_map()
st.markdown(
    "**An attention map has one cell for every pair of tokens:** 4,096 tokens need 4,096 × 4,096 = 16.8 million "
    "cells in every head. Two kinds of attention need fewer ([Liu et al. 2018](https://arxiv.org/abs/1801.10198)): "
    "*local* attention stays within a block; *compressed* attention sees everything, three tokens at a time.",
    help=explain("local attention", "compressed attention", "token", "attention"),
)
PAGE.function(part)()
