"""Compares sinusoidal positional encoding with alternatives: learned or rotary positions, linear biases, or none."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.matrix import LEGEND
from pages.ui.charts.tables import frame, show_numbers
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.params.positional_encoding import PositionsParams
from pages.ui.positional_encoding.offsets import over_offset, show_pairs
from pages.ui.reading.model_picker import translator
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.state.bind import bind_number
from transformer.analysis.positions import by_offset, dot_products
from transformer.config import TransformerConfig
from transformer.model.encodings import Rotary
from transformer.model.linear_biases import biases, slopes
from transformer.model.sinusoids import sinusoids
from transformer.values.weights import Weights

# The maps show the first head, because it has the steepest slope.
SHOWN_HEAD = 0
LEARNED_TABLE = "source_positions.table"


def show_alternatives() -> None:
    """Show a map of all position pairs for each way to encode positions. For each way except rotary encoding, also
    plot the dot products or biases by offset.
    """
    model = translator()
    config, weights = model.config, CachedRuns(model).weights()
    encoding = session.params(PositionsParams)
    st.number_input("Positions", width=200, **bind_number(PositionsParams, "span"))
    span = encoding.span
    st.markdown(
        "Each map shows what one alternative computes for every pair of positions, whatever the words are. Rows "
        "and columns are the same in all maps; units differ, so each map has its own colours."
    )
    learned = learned_products(config, weights, span)
    alternatives = {
        "Sinusoids": (dot_products(sinusoids(span, config.d_model // 2 * 2)), "dot product"),
        "Learned": None if learned is None else (learned, "dot product"),
        "Rotary (RoFormer)": (rotary_products(span, config.d_head // 2 * 2), "fraction of dot product kept"),
        f"Linear biases (ALiBi), head {SHOWN_HEAD + 1} of {config.heads}": (
            biases(config.heads, span)[SHOWN_HEAD],
            "added to the score",
        ),
        "None": (np.zeros((span, span)), "added to the score"),
    }
    places = [column for _ in range(3) for column in st.columns(2, gap="medium")]
    for number, (place, (title, alternative)) in enumerate(zip(places, alternatives.items(), strict=False)):
        with place:
            st.markdown(f"**{title}**")
            if alternative is None:
                st.info(
                    "This model has no learned positions to show: its positional encoding is "
                    f"“{config.positions}”. Learned positions are a table of parameters with one vector for every "
                    "position up to a limit (Gehring et al. 2017). Vaswani et al. 2017 tried them too, and got nearly "
                    "the same scores as with sinusoids (table 3, row E)."
                )
                continue
            values, name = alternative
            show_pairs(
                values,
                name,
                key=f"positions_other_{number}",
                description=f"{title}: {span} by {span} positions.",
                height=340,
            )
            show_numbers(
                frame(values, None, None, corner="position", first=(1, 1)), f"positions_other_numbers_{number}"
            )
    _show_by_offset(config, span, learned)


def rotary_products(span: int, d_head: int) -> np.ndarray:
    """Return the fraction of a dot product that rotary encoding keeps for each pair of positions, [P, P].

    The query and the key are assumed to be equal, with equal norms in all dimension pairs. So each value is the mean
    cosine of the angles by which the two positions' rotations differ, and the diagonal is 1.
    """
    angles = Rotary().angles(span, d_head)
    return np.cos(angles[:, None] - angles).mean(axis=-1)


def learned_products(config: TransformerConfig, weights: Weights, span: int) -> np.ndarray | None:
    """Return the dot products of the encoder's learned position vectors, [P, P]; None if the model has none.

    Args:
        config, weights: the model's configuration and weights.
        span: the number of positions, P; fewer are returned if the model has fewer.
    """
    if config.positions != "learned":
        return None
    return dot_products(weights.arrays[LEARNED_TABLE][:span].astype(np.float64))


def _show_by_offset(config: TransformerConfig, span: int, learned: np.ndarray | None) -> None:
    """Plot the dot products of positional encodings, and each head's linear biases, by offset.

    Args:
        learned: the result of `learned_products`.
    """
    st.subheader("Dot products and biases by the offset between two positions", anchor=False)
    sines, lines = st.columns(2, gap="medium")
    products = {"sinusoids": by_offset(dot_products(sinusoids(span, config.d_model // 2 * 2))).mean}
    if learned is not None:
        products["learned, mean"] = by_offset(learned).mean
    products["none"] = np.zeros(span)
    added = biases(config.heads, span)[:, 0]
    for place, title, table, value in (
        (
            sines,
            "Position vectors, or none",
            pd.concat(
                [
                    pd.DataFrame({"offset": range(len(values)), "value": values, "positions": name})
                    for name, values in products.items()
                ]
            ),
            "dot product",
        ),
        (
            lines,
            f"Linear biases of {config.heads} heads",
            pd.DataFrame(
                {
                    "offset": np.tile(np.arange(span), config.heads),
                    "value": added.ravel(),
                    "positions": np.repeat([f"head {head}" for head in range(1, config.heads + 1)], span),
                }
            ),
            "added to the score",
        ),
    ):
        # Only the chart of linear biases is a main figure. Position vectors, which are added to the embeddings, already
        # have main figures in other parts of the page.
        with (
            place,
            main_figure(
                f"**{title}:** added to the scores, not to the embeddings",
                "The further apart two tokens are, the more is subtracted; each head has its own slope",
                when=place is lines,
            ),
        ):
            st.markdown(f"**{title}**")
            show_altair(
                alternatives_chart(table, value),
                key=f"positions_alternatives_{value}",
                alt=f"{title}, plotted by offset; the table has the numbers.",
                sentence="",
            )
            show_numbers(
                table.pivot(index="offset", columns="positions", values="value").reset_index(),
                f"positions_alternatives_numbers_{value}",
            )
    show_numbers(
        pd.DataFrame({"head": range(1, config.heads + 1), "slope": slopes(config.heads)}),
        "positions_slopes",
        label="The slope of each head",
        digits=8,
    )
    st.caption(
        "Linear biases (Press et al. 2022) subtract slope times distance from every score, with a different slope for "
        "each head, and add nothing to the embeddings. They are shown in their symmetric form; masked attention uses "
        "only the half that looks back. Rotary positions (Su et al. 2021) rotate queries and keys, so that their "
        "product depends on the offset. For the map, query and key are the same vector, in which all pairs of "
        "dimensions have the same length. Without positions, a self-attention layer cannot tell “dog bites "
        "man” from “man bites dog”, as the first part of this page shows."
    )


def alternatives_chart(table: pd.DataFrame, value: str) -> alt.Chart:
    """Return a line chart over the offset between positions, with one line per alternative or head.

    Args:
        table: a table with columns offset, value and positions (the name of the line).
        value: the title of the vertical axis.
    """
    names = list(dict.fromkeys(table["positions"]))
    legend = alt.Legend(title=None, columns=4, **LEGEND)
    lines = alt.Chart(table).mark_line().encode(color=alt.Color("positions:N", sort=names, legend=legend))
    return over_offset(lines, value, height=300, tooltip=["positions:N"], zero=True)
