"""The well-known worked example of scaled attention: two scores, divided by √K, become weights."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.tables import show_table
from pages.ui.layout.roles import figure_words, main_figure
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.state import session
from pages.ui.state.bind import bind_number
from pages.ui.text.number_format import formatted, typeset
from transformer.backpropagation.softmax import exponentials, softmax


def show_example() -> None:
    """Show number boxes for two scores and the head width, and the resulting attention weights."""
    st.markdown(
        "Two keys and one query. In the best-known illustration of attention (Alammar 2018, “The Illustrated "
        "Transformer”), the dot products are 112 and 96, and the head is K = 64 wide. Change any of these numbers."
    )
    with st.container(horizontal=True, width=700):
        st.number_input("q · k₁", step=1.0, **bind_number(InsideParams, "score"))
        st.number_input("q · k₂", step=1.0, **bind_number(InsideParams, "other"))
        st.number_input("Head width K", **bind_number(InsideParams, "width"))
    inspection = session.params(InsideParams)
    scores = np.array([inspection.score, inspection.other])
    root = float(np.sqrt(inspection.width))
    scaled = scores / root
    weights, unscaled = softmax(scaled), softmax(scores)
    with (
        main_figure(
            f"**Two keys, one query:** dot products {scores[0]:g} and {scores[1]:g}, divided by √{inspection.width}, "
            "then softmax",
            f"Without the division, the weights would be {typeset(unscaled[0], 7)} and {typeset(unscaled[1], 7)}",
        ),
        figure_words(),
    ):
        with st.container(horizontal=True):
            st.metric("Weight of the first key", typeset(weights[0], 2), border=True)
            st.metric("Weight of the second key", typeset(weights[1], 2), border=True)
            st.metric("Sum", f"{weights.sum():.2f}", border=True)
        st.latex(
            rf"\begin{{gathered}} \mathrm{{softmax}}\!\left("
            rf"\frac{{({scores[0]:g},\ {scores[1]:g})}}{{\sqrt{{{inspection.width}}}}}\right) \\"
            rf" = \mathrm{{softmax}}({scaled[0]:.4g},\ {scaled[1]:.4g}) \\"
            rf" = ({_formula(weights[0])},\ {_formula(weights[1])}) \end{{gathered}}"
        )
    show_table(example_table(scores, root), "inside_example")
    st.markdown(
        f"**Why divide?** Without the division by √K = {root:.4f}, the weights would be {typeset(unscaled[0], 7)} and "
        f"{typeset(unscaled[1], 7)}. If queries and keys consist of independent numbers with mean 0 and variance 1, "
        "their dot product has variance K. Without the root, the softmax of a wide head is therefore nearly all or "
        "nothing, and training can hardly change it (Vaswani et al. 2017, section 3.2.1)."
    )


def _formula(weight: float) -> str:
    mantissa, _, exponent = formatted(weight).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def example_table(scores: np.ndarray, root: float) -> pd.DataFrame:
    """Return a table with one column per step of the computation. The last row contains the sums.

    Args:
        scores: the two scores, [2].
        root: the divisor √K.
    """
    scaled = scores / root
    powers = exponentials(scaled)
    return pd.DataFrame(
        {
            "key": ["first", "second", "sum"],
            "q · k": [*scores, np.nan],
            "÷ √K": [*scaled, np.nan],
            "exp(s − max)": [*powers, powers.sum()],
            "weight = exp ÷ sum": [*softmax(scaled), softmax(scaled).sum()],
        }
    )
