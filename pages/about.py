"""The "About the model" page: architecture, parameters, training, scores, limits and licences."""

from pages.ui.shell.router import ensure_router

ensure_router()

import pandas as pd
import streamlit as st

from pages.ui.about.learning_curve import show_learning
from pages.ui.charts.parameter_bars import parameter_bars
from pages.ui.components.save_as import show_plotly
from pages.ui.reading.model_picker import is_shipped, show_model_menu, translator
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text
from transformer.checkpoints.available_models import model_folders
from transformer.checkpoints.cards import card_sections, without_media
from transformer.model.parameter_counts import parameter_table

# Collapse each section of the model card that has more characters than this.
LONGEST_OPEN = 2_000

introduction = st.container()
with st.container(horizontal=True, vertical_alignment="bottom"):
    with st.container(width=280):
        show_model_menu()
    model = translator()
    config = model.config
    source, target = (markdown(language.name) for language in model.languages)
    introduction.markdown(
        "Attention Atlas shows what a Transformer's attention does while it translates a sentence. "
        + (
            "The model behind it was written from scratch and trained for this app: it reads "
            f"{source} and writes {target} with {model.parameters:,} learned numbers. Below: how it is built, what it "
            "learned from, how well it translates, and where it fails."
            if is_shipped(model)
            else f"This model is in the folder {markdown(str(model.folder))}: it reads {source} and writes {target} "
            f"with {model.parameters:,} learned numbers. Below: how it is built, and what the model card says."
        )
    )
    tokens = f"{config.target_vocabulary:,}"
    if config.source_vocabulary != config.target_vocabulary:
        tokens = f"{config.source_vocabulary:,} → {tokens}"
    count = model.parameters
    st.metric("Parameters", f"{count / 1e6:.1f} M" if count >= 100_000 else f"{count:,}", help=explain("parameter"))
    st.metric(
        "Layers", f"{config.encoder_layers} + {config.decoder_layers}", help=explain("layer", "encoder", "decoder")
    )
    st.metric("Heads", config.heads, help=explain("head"))
    st.metric("Tokens", tokens, help=explain("token", "vocabulary"))
card, numbers = st.columns([5, 3], gap="large")
with card, st.container(key="card"):
    # On a phone, a wide table scrolls sideways within its own box, so that the page does not scroll sideways.
    st.html("<style>.st-key-card table { display: block; overflow-x: auto; }</style>")
    # Collapse long sections, such as logs, so that the model's description and known failures fit on a few screens.
    for title, text in card_sections(without_media(model.card), LONGEST_OPEN):
        with st.expander(markdown(title)) if title else st.container():
            st.markdown(text)
    for folder in model_folders().values():
        if folder.problem:
            st.caption(error_text(folder.problem))
with numbers:
    settings = {
        "model width D": config.d_model,
        "head width K": config.d_head,
        "feed-forward width F": config.d_ff,
        "activation": config.activation,
        "layer norm": f"{config.norm}-norm",
        "positions": config.positions,
        "embeddings tied": config.tied_embeddings,
        "dropout in training": config.dropout,
    }
    st.table(pd.DataFrame({"setting": settings.keys(), "value": map(str, settings.values())}).set_index("setting"))
    if model.curve:
        show_learning(model.curve)
st.markdown("**Where the parameters are**")
show_plotly(
    parameter_bars(parameter_table(config)),
    key="parameters",
    config={"displayModeBar": False},
    alt="Number of parameters in each part of the model.",
    sentence="",
)
