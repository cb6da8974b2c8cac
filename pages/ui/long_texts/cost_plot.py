"""Plots the measured cost of attention against text length, on logarithmic axes, and describes the slopes."""

from collections.abc import Sequence

import altair as alt
import pandas as pd
import streamlit as st

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS
from pages.ui.charts.tables import show_numbers
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.long_texts.cost_words import conclusion, describe_saving, describe_slopes, format_value
from pages.ui.long_texts.local_costs import costs, measure_button
from pages.ui.long_texts.names import NAMES, colour, shape
from pages.ui.params.long_texts import KEYS_AND_VALUES, SECONDS, WEIGHTS, LongTextsParams
from pages.ui.state import session
from pages.ui.state.bind import segments
from pages.ui.text.glossary import explain
from transformer.language_modelling.cost import MIN_FITTED_LENGTH, Cost

TITLES = {WEIGHTS: "Map size (bytes)", SECONDS: "Seconds per pass", KEYS_AND_VALUES: "Key and value size (bytes)"}
AXIS_TITLES = {
    WEIGHTS: "bytes of attention weights per head",
    SECONDS: "seconds per pass",
    KEYS_AND_VALUES: "bytes of keys and values per head",
}
# Line widths (in pixels) and point areas: first for full attention, then for the other kinds. The line for full
# attention is wider, so that it stays visible behind a line that coincides with it.
WIDTHS, SIZES = (9, 3), (190, 60)


def show_costs() -> None:
    """Show a plot of the costs, a description of the slopes, and a button that measures the costs on this machine."""
    recorded = costs()
    if recorded is None:
        st.warning("The recorded measurement is missing or damaged. Measure on this machine instead.")
        measure_button()
        return
    quantity = session.params(LongTextsParams).quantity
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = explain("logarithmic axis", "attention weight", "key", "value")
        segments("Quantity plotted against text length", TITLES, LongTextsParams, "quantity", help=words)
        measure_button()
    table = cost_table(recorded.costs)
    picture, words = st.columns([3, 2], gap="large")
    with (
        picture,
        main_figure(
            f"**{TITLES[quantity]} against the length of the text**",
            " ".join(line.replace("**", "") for line in describe_slopes(recorded.costs, quantity)[:2]),
        ),
    ):
        show_altair(
            cost_chart(recorded.costs, quantity),
            key=f"long_cost_{quantity}",
            alt=f"{TITLES[quantity]} against the length of the text, for three kinds of attention; the table has the "
            "numbers.",
            sentence="",
        )
    with words:
        st.markdown("\n".join(f"- {line}" for line in describe_slopes(recorded.costs, quantity)))
        st.markdown(describe_saving(recorded.costs, quantity))
        st.markdown(conclusion(recorded.costs, quantity))
    st.caption(
        f"Measured on {recorded.machine}: {recorded.model}. Slopes are fitted to texts of at least "
        f"{MIN_FITTED_LENGTH:,} tokens; with shorter texts, most of the time is spent outside attention. This app "
        "stores the attention map in order to show it. Fast kernels (FlashAttention) never store the map, so their "
        f"memory grows with slope 1, but they still compute every cell. To repeat the measurement, run "
        f"`{recorded.command}`."
    )
    show_numbers(table, "long_cost_numbers", digits=4)


def cost_table(costs: Sequence[Cost]) -> pd.DataFrame:
    """Return a table of the costs with one row per measurement."""
    return pd.DataFrame(
        {
            "attention": [NAMES[cost.attention] for cost in costs],
            "tokens": [cost.length for cost in costs],
            AXIS_TITLES[WEIGHTS]: [cost.weights for cost in costs],
            AXIS_TITLES[KEYS_AND_VALUES]: [cost.keys_and_values for cost in costs],
            AXIS_TITLES[SECONDS]: [cost.seconds for cost in costs],
        }
    )


def cost_chart(costs: Sequence[Cost], quantity: str) -> alt.LayerChart:
    """Return a chart of one quantity against text length, with logarithmic axes and one line per kind of attention."""
    values = [float(getattr(cost, quantity)) for cost in costs]
    table = pd.DataFrame(
        {
            "tokens": [cost.length for cost in costs],
            "attention": [NAMES[cost.attention] for cost in costs],
            "value": values,
            "said": [format_value(value, quantity) for value in values],
        }
    )
    least, most = min(values) / 1.6, max(values) * 1.6
    powers = [10.0**power for power in range(-7, 13) if least <= 10.0**power <= most]
    full = alt.FieldEqualPredicate(field="attention", equal=NAMES["full"])
    base = alt.Chart(table).encode(
        x=alt.X(
            "tokens:Q",
            title="tokens in the text",
            scale=alt.Scale(type="log", base=2, nice=False),
            axis=alt.Axis(values=sorted(set(table["tokens"])), format=",", grid=False, **AXIS),
        ),
        y=alt.Y(
            "value:Q",
            title=AXIS_TITLES[quantity],
            scale=alt.Scale(type="log", domain=[least, most], nice=False),
            axis=alt.Axis(values=powers, labelExpr="names[indexof(powers, datum.value)]", **AXIS),
        ),
        tooltip=[alt.Tooltip("attention:N"), alt.Tooltip("tokens:Q", format=","), alt.Tooltip("said:N", title="takes")],
        color=colour(),
    )
    return (
        layer_charts(
            base.mark_line().encode(strokeWidth=alt.condition(full, *map(alt.value, WIDTHS))),
            base.mark_point(filled=True, opacity=1).encode(
                shape=shape(), size=alt.condition(full, *map(alt.value, SIZES))
            ),
        )
        .add_params(
            alt.param(name="names", value=[format_value(power, quantity) for power in powers]),
            alt.param(name="powers", value=powers),
        )
        .properties(height=430)
    )
