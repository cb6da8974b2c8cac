"""Shows the number of parameters in each part of the app's model, or of a configuration chosen by the user."""

import pandas as pd
import streamlit as st

from pages.ui.charts.parameter_bars import parameter_bars
from pages.ui.charts.tables import draw_table
from pages.ui.components.save_as import show_plotly
from pages.ui.layout.roles import main_figure
from pages.ui.state.architecture_form import architecture_form
from transformer.config import TransformerConfig
from transformer.model.parameter_counts import parameter_table
from transformer.running.translator import Translator


def show_parameters_of_language_model(config: TransformerConfig) -> None:
    """Show the parameter count of each part of a language model."""
    table = parameter_table(config)
    description = f"The language model has {sum(count for _, count in table):,} parameters"
    st.markdown(f"**{description}.**")
    with main_figure(f"**{description}**"):
        _show_counts(table, "ours")
    st.caption("A token table that serves as both input and output layer is counted once.")


def show_parameters(model: Translator) -> None:
    """Show the parameter count of each part of a translator, and a form for the counts of another configuration."""
    st.markdown(f"**This app’s model has {model.parameters:,} parameters.**")
    with main_figure(f"**This app’s model has {model.parameters:,} parameters**"):
        _show_counts(parameter_table(model.config), "ours")
    st.subheader("Any other configuration", anchor=False)
    config = architecture_form(model.config)
    table = parameter_table(config)
    total = sum(count for _, count in table)
    with st.container(horizontal=True):
        st.metric("Parameters", f"{total:,}")
        st.metric("Head width K", config.d_head)
        st.metric("Relative to the app’s model", f"{total / model.parameters:.2f}")
    _show_counts(table, "typed")
    st.caption(
        "`python -m transformer info` prints the same numbers for a model. With pre-norm, each of the two stacks "
        "ends in an extra norm, which adds 2D parameters compared with post-norm. Sinusoids are computed, so they need "
        "no parameters. Shared parameters are counted once."
    )


def _show_counts(table: list[tuple[str, int]], key: str) -> None:
    total = sum(count for _, count in table)
    # Show the chart and the table side by side if they fit, otherwise one below the other.
    with st.container(horizontal=True, gap="large"):
        show_plotly(
            parameter_bars(table),
            key=f"inside_parameters_{key}",
            config={"displayModeBar": False},
            width=680,
            alt="Number of parameters in each part; the table lists the numbers.",
            sentence="",
        )
        draw_table(
            pd.DataFrame(
                {
                    "part": [part for part, _ in table] + ["total"],
                    "parameters": [count for _, count in table] + [total],
                    "share": [f"{count / total:.2%}" for _, count in [*table, ("total", total)]],
                }
            ),
            f"inside_counts_{key}",
            width="content",
            column_config={
                "parameters": st.column_config.NumberColumn(format="localized"),
                "share": st.column_config.TextColumn(alignment="right"),
            },
        )
