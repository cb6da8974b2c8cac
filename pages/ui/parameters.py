"""Where the parameters of a configuration are, and the form to type one in."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
import streamlit as st

from pages.ui import state
from pages.ui.architecture import Architecture
from pages.ui.plain import markdown
from transformer.config import CHOICES, TransformerConfig

# Characters of a part's name that stand beside its bar in one line.
LONGEST_LINE = 26
PRESETS = (BASE, BIG, OURS) = ("The paper's base model", "The paper's big model", "The model of this app")


def architecture_form(ours: TransformerConfig) -> TransformerConfig:
    """Draw the form, and return what it holds; stops the page with one message if that cannot be.

    Args:
        ours: the configuration of the app's model, one of the presets.
    """
    presets = {BASE: Architecture(), BIG: Architecture(d_model=1024, heads=16, d_ff=4096), OURS: Architecture.of(ours)}
    with st.container(horizontal=True):
        for name, preset in presets.items():
            st.button(name, key=f"architecture_preset_{name}", on_click=state.keep_all, args=(preset,))
    numbers = {
        "d_model": "model width D", "heads": "heads H", "encoder_layers": "encoder layers",
        "decoder_layers": "decoder layers", "d_ff": "feed-forward width F", "vocabulary": "pieces V, each side",
    }
    for column, (name, label) in zip(st.columns(len(numbers), vertical_alignment="bottom"), numbers.items(),
                                     strict=True):
        column.number_input(label, **state.bounded(Architecture, name))
    choices = {"tied": ("embeddings shared", "tied_embeddings"), "norm": ("layer norm", "norm"),
               "positions": ("positions", "positions")}
    *places, last = st.columns(4, vertical_alignment="bottom")
    for column, (name, (label, field)) in zip(places, choices.items(), strict=True):
        column.selectbox(label, CHOICES[field], **state.held(Architecture, name))
    last.toggle("bias in the output layer", **state.held(Architecture, "output_bias"))
    try:
        return state.own(Architecture).config()
    except ValueError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        st.stop()


def parameter_chart(table: Sequence[tuple[str, int]]) -> go.Figure:
    """Bars, a part each.

    Args:
        table: of `transformer.parameters.parameter_table`.
    """
    parts = ["<br>".join(wrap(part, LONGEST_LINE)) for part, _ in table]
    figure = px.bar(
        pd.DataFrame({"part": parts, "parameters": [count for _, count in table]}), x="parameters", y="part",
        orientation="h", text="parameters",
    )
    figure.update_traces(texttemplate="%{x:,}", textposition="outside", hovertemplate="%{y}: %{x:,}<extra></extra>")
    figure.update_yaxes(autorange="reversed", title=None)
    # Room beside the longest bar for its number.
    most = 1.25 * max(count for _, count in table)
    figure.update_xaxes(title="parameters", showgrid=False, range=[0, most])
    figure.update_layout(height=400, margin={"l": 0, "r": 0, "t": 8, "b": 0})
    return figure
