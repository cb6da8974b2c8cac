"""What the model is: architecture, parameters, training, scores, limits, licences."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import pandas as pd  # noqa: E402
import streamlit as st  # noqa: E402

from pages.ui.learning import show_learning  # noqa: E402
from pages.ui.parameters import parameter_chart  # noqa: E402
from pages.ui.sentence import device_choice, translator  # noqa: E402
from transformer.parameters import parameter_table  # noqa: E402

st.subheader("About the model", anchor=False)
with st.container(horizontal=True, vertical_alignment="bottom"):
    device_choice()
    model = translator()
    config = model.config
    st.metric("Parameters", f"{model.parameters / 1e6:.1f} M")
    st.metric("Layers", f"{config.encoder_layers} + {config.decoder_layers}")
    st.metric("Heads", config.heads)
    st.metric("Pieces", f"{config.target_vocabulary:,}")
card, numbers = st.columns([5, 3], gap="large")
with card:
    st.markdown(model.card)
with numbers:
    settings = {
        "model width D": config.d_model, "head width K": config.d_head, "feed-forward width F": config.d_ff,
        "activation": config.activation, "layer norm": f"{config.norm}-norm", "positions": config.positions,
        "embeddings tied": config.tied_embeddings, "dropout in training": config.dropout,
    }
    st.table(pd.DataFrame({"setting": settings.keys(), "value": map(str, settings.values())}).set_index("setting"))
    if model.curve:
        show_learning(model.curve)
st.markdown("**Where the parameters are**")
st.plotly_chart(
    parameter_chart(parameter_table(config)), key="parameters", config={"displayModeBar": False},
    alt="Parameters of each part of the model.",
)
