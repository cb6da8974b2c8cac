"""Form for choosing a model configuration."""

import streamlit as st

from pages.ui.params.architecture import ArchitectureParams
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind, bind_number
from pages.ui.text.markup import markdown
from transformer.config import CHOICES, TransformerConfig

PRESETS = (BASE, BIG, OURS) = ("The paper's base model", "The paper's big model", "This app's model")


def architecture_form(own_config: TransformerConfig) -> TransformerConfig:
    """Show the form and return the chosen configuration; if it is invalid, end the page with an error message.

    Args:
        own_config: the configuration of the app's model, offered as one of the presets.
    """
    presets = {
        BASE: ArchitectureParams(),
        BIG: ArchitectureParams(d_model=1024, heads=16, d_ff=4096),
        OURS: ArchitectureParams.of(own_config),
    }
    with st.container(horizontal=True):
        for name, preset in presets.items():
            st.button(name, key=f"architecture_preset_{name}", on_click=session.store, args=(preset,))
    numbers = {
        "d_model": "model width D",
        "heads": "heads H",
        "encoder_layers": "encoder layers",
        "decoder_layers": "decoder layers",
        "d_ff": "feed-forward width F",
        "vocabulary": "vocabulary size V per side",
    }
    for column, (name, label) in zip(
        st.columns(len(numbers), vertical_alignment="bottom"), numbers.items(), strict=True
    ):
        column.number_input(label, **bind_number(ArchitectureParams, name))
    choices = {
        "tied": ("shared embeddings", "tied_embeddings"),
        "norm": ("layer norm", "norm"),
        "positions": ("positions", "positions"),
    }
    *places, last = st.columns(4, vertical_alignment="bottom")
    for column, (name, (label, field)) in zip(places, choices.items(), strict=True):
        column.selectbox(label, CHOICES[field], **bind(ArchitectureParams, name))
    last.toggle("bias in the output layer", **bind(ArchitectureParams, "output_bias"))
    try:
        return session.params(ArchitectureParams).config()
    except ValueError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        raise PageEnd from None
