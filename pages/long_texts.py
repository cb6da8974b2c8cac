"""Long texts: why the map of a long text does not fit, and what two ways out save and cost."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.long_texts.cost_plot import show_costs
from pages.ui.long_texts.loss_plot import show_losses
from pages.ui.long_texts.text_maps import pick_map, show_maps
from pages.ui.params.long_texts import COST, LOSS, MAP, PARTS, LongTextsParams
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.glossary import explain

NAMES = {MAP: "The map", COST: "What it costs", LOSS: "What it loses"}
SHOWS = {MAP: show_maps, COST: show_costs, LOSS: show_losses}

with st.container(horizontal=True, vertical_alignment="bottom"):
    st.segmented_control(
        "Long texts", PARTS, format_func=NAMES.__getitem__, required=True, label_visibility="collapsed",
        **bind(LongTextsParams, "part"),
    )
    part = session.params(LongTextsParams).part
    if part == MAP:
        pick_map()
st.markdown(
    "**An attention map has a cell for every two pieces:** 4,096 pieces need 4,096 × 4,096 = 16.8 million, in every "
    "head. Two ways out ([Liu et al. 2018](https://arxiv.org/abs/1801.10198)): *local* attention stays within a block, "
    "*compressed* attention sees everything, three pieces at a time.",
    help=explain("local attention", "compressed attention", "piece", "attention"),
)
SHOWS[part]()
