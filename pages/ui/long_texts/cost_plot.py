"""What attention costs against the length of the text: measured, on logarithmic axes, with the slopes in words."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd
import streamlit as st

from pages.ui import session
from pages.ui.bind import bind
from pages.ui.charts.matrix import AXIS
from pages.ui.charts.tables import show_numbers
from pages.ui.components.save_as import show_altair
from pages.ui.lecture.figure import main_figure
from pages.ui.long_texts.measuring import costs, measure_button
from pages.ui.long_texts.names import NAMES, colour, shape
from pages.ui.params.long_texts import KEYS_AND_VALUES, QUANTITIES, SECONDS, WEIGHTS, LongTextsParams
from pages.ui.text.glossary import explain
from transformer.language_modelling.cost import ATTENTIONS, FITTED_FROM, Cost, slopes

TITLES = {WEIGHTS: "Bytes of the map", SECONDS: "Seconds of a pass", KEYS_AND_VALUES: "Bytes of keys and values"}
AXIS_TITLES = {
    WEIGHTS: "bytes of the weights of one head", SECONDS: "seconds of one pass",
    KEYS_AND_VALUES: "bytes of the keys and values of one head",
}
WORDS = {WEIGHTS: "bytes", SECONDS: "seconds", KEYS_AND_VALUES: "bytes"}
# Layers times heads of a model that everybody knows.
GPT2, GPT2_HEADS = "GPT-2 small", 144


def show_costs() -> None:
    """The plot, what its slopes say, and the button that measures here."""
    recorded = costs()
    if recorded is None:
        st.warning("The recorded measurement is missing or damaged: measure on this machine.")
        measure_button()
        return
    quantity = session.params(LongTextsParams).quantity
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Against the length of the text", QUANTITIES, format_func=TITLES.__getitem__, required=True,
            help=explain("logarithmic axis", "attention weight", "key", "value"), **bind(LongTextsParams, "quantity"),
        )
        measure_button()
    table = cost_table(recorded.costs)
    picture, words = st.columns([3, 2], gap="large")
    with picture, main_figure(f"**{TITLES[quantity]} against the length of the text**",
                              " ".join(line.replace("**", "") for line in says_slopes(recorded.costs, quantity)[:2])):
        show_altair(
            cost_chart(recorded.costs, quantity), key=f"long_cost_{quantity}",
            alt=f"{TITLES[quantity]} against the length of the text, for three kinds of attention; the table has the "
                "numbers.", sentence="",
        )
    with words:
        st.markdown("\n".join(f"- {line}" for line in says_slopes(recorded.costs, quantity)))
        st.markdown(says_saving(recorded.costs))
    st.caption(
        f"Measured on {recorded.machine}: {recorded.model}. Slopes are fitted from {FITTED_FROM:,} pieces on; the time "
        "of a shorter text is that of everything around the attention. The map is written out here, as it must be to "
        "be looked at. Fast kernels (FlashAttention) never store it, so their memory grows with slope 1; they still "
        f"compute every cell. The same again: `{recorded.command}`"
    )
    show_numbers(table, "long_cost_numbers", digits=4)


def cost_table(found: Sequence[Cost]) -> pd.DataFrame:
    """A row a measurement."""
    return pd.DataFrame({
        "pieces": [each.length for each in found], "attention": [NAMES[each.attention] for each in found],
        AXIS_TITLES[WEIGHTS]: [each.weights for each in found],
        AXIS_TITLES[KEYS_AND_VALUES]: [each.keys_and_values for each in found],
        AXIS_TITLES[SECONDS]: [each.seconds for each in found],
    })


def cost_chart(found: Sequence[Cost], quantity: str) -> alt.Chart:
    """A line an attention; equal steps on either axis are equal factors."""
    table = pd.DataFrame({
        "pieces": [each.length for each in found], "attention": [NAMES[each.attention] for each in found],
        "value": [float(getattr(each, quantity)) for each in found],
        "said": [written(getattr(each, quantity), quantity) for each in found],
    })
    values = [float(getattr(each, quantity)) for each in found]
    least, most = min(values) / 1.6, max(values) * 1.6
    powers = [10.0**power for power in range(-7, 13) if least <= 10.0**power <= most]
    labels = [written(power, quantity) for power in powers]
    return alt.Chart(table).mark_line(point={"size": 70}, strokeWidth=3).encode(
        x=alt.X("pieces:Q", title="pieces of the text", scale=alt.Scale(type="log", base=2, nice=False),
                axis=alt.Axis(values=sorted(set(table["pieces"])), format=",", grid=False, **AXIS)),
        y=alt.Y("value:Q", title=AXIS_TITLES[quantity], scale=alt.Scale(type="log", domain=[least, most], nice=False),
                axis=alt.Axis(values=powers, labelExpr="names[indexof(powers, datum.value)]", **AXIS)),
        tooltip=[alt.Tooltip("attention:N"), alt.Tooltip("pieces:Q", format=","), alt.Tooltip("said:N", title="takes")],
        color=colour(), shape=shape(),
    ).add_params(
        alt.param(name="names", value=labels), alt.param(name="powers", value=powers),
    ).properties(height=430)


def written(value: float, quantity: str) -> str:
    """A number of a quantity with its unit."""
    units = {1: "s", 1e-3: "ms", 1e-6: "µs"} if quantity == SECONDS else {1e9: "GB", 1e6: "MB", 1e3: "kB", 1: "bytes"}
    size = next((size for size in sorted(units, reverse=True) if value >= size), min(units))
    return f"{value / size:,.3g} {units[size]}"


def says_slopes(found: Sequence[Cost], quantity: str) -> list[str]:
    """Markdown: a sentence for each attention."""
    return [
        f"**{NAMES[attention]}:** twice the text takes {2**slope:.1f} times the {WORDS[quantity]} (slope {slope:.2f})."
        for attention, slope in slopes(found, quantity).items()
    ]


def says_saving(found: Sequence[Cost]) -> str:
    """Markdown: what the map of the longest text takes, here and in a model of usual size, and what the others save."""
    length = max(each.length for each in found if each.attention == "full")
    weights = {each.attention: each.weights for each in found if each.length == length}
    full = weights["full"]
    saved = [
        f"{NAMES[attention].lower()} attention takes a {_ordinal(full / weights[attention])} of that "
        f"({written(weights[attention], WEIGHTS)})"
        for attention in ATTENTIONS[1:] if attention in weights
    ]
    return (
        f"The map of **{length:,} pieces** takes **{written(full, WEIGHTS)}** in one head. {GPT2} has {GPT2_HEADS} "
        f"heads: **{written(GPT2_HEADS * full, WEIGHTS)}** for a single text, and four times that for twice the text. "
        f"This is why it does not fit. For the same text, {' and '.join(saved)}.\n\nCompression saves a constant "
        "factor of the map, whose slope stays 2: it moves the wall, and does not take it away. A text cut into blocks "
        "has slope 1, but nothing sees beyond its block."
    )


def _ordinal(factor: float) -> str:
    """A whole number as a share: third, 16th."""
    return {2: "half", 3: "third", 4: "quarter"}.get(round(factor), f"{round(factor)}th")
