"""Where the parameters are: of the app's model, and of any configuration."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.ui.parameters import architecture_form, parameter_chart
from transformer.parameters import parameter_table
from transformer.translator import Translator


def show_parameters(model: Translator) -> None:
    """The chart of the model, then the form and what comes of it."""
    st.markdown(f"**The model of this app has {model.parameters:,} parameters.**")
    _counts(parameter_table(model.config), "ours")
    st.subheader("Any other configuration", anchor=False)
    config = architecture_form(model.config)
    table = parameter_table(config)
    total = sum(count for _, count in table)
    with st.container(horizontal=True):
        st.metric("Parameters", f"{total:,}")
        st.metric("Head width K", config.d_head)
        st.metric("Times the model of this app", f"{total / model.parameters:.2f}")
    _counts(table, "typed")
    st.caption(
        "The same numbers as `python -m transformer info` prints for a model. With pre-norm each stack ends in a norm "
        "of its own, so it has 2 × 2D parameters more than post-norm. Sinusoids are computed and cost none; what is "
        "shared is counted once."
    )


def _counts(table: list[tuple[str, int]], key: str) -> None:
    total = sum(count for _, count in table)
    # Side by side where there is room for both, else one below the other.
    with st.container(horizontal=True, gap="large"):
        st.plotly_chart(
            parameter_chart(table), key=f"inside_parameters_{key}", config={"displayModeBar": False}, width=680,
            alt="Parameters of each part; the table has the same numbers.",
        )
        st.dataframe(
            pd.DataFrame({
                "part": [part for part, _ in table] + ["total"],
                "parameters": [count for _, count in table] + [total],
                "share": [f"{100 * count / total:.2g}%" for _, count in table] + ["100%"],
            }),
            key=f"inside_counts_{key}", hide_index=True, width="content",
            column_config={
                "parameters": st.column_config.NumberColumn(format="localized"),
                "share": st.column_config.TextColumn(alignment="right"),
            },
        )
