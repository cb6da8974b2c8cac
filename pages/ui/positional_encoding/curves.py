"""Plots chosen dimensions of the positional encoding by position, with and without dropout."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.ui.charts.heatmap import TOOLBAR_HEIGHT
from pages.ui.charts.palette import MASKED
from pages.ui.charts.tables import show_numbers, show_table
from pages.ui.components.save_as import show_plotly
from pages.ui.layout.roles import main_figure
from pages.ui.params.positional_encoding import MAX_DIMENSIONS, PositionsParams
from pages.ui.reading.model_picker import translator
from pages.ui.state import session
from pages.ui.state.bind import bind, bind_number, setting
from transformer.analysis.positions import dropout, wavelengths
from transformer.config import TransformerConfig
from transformer.model.sinusoids import sinusoids


def show_curves() -> None:
    """Show settings, plots with and without dropout, a comparison of two positions, and the wavelengths."""
    encoding = session.params(PositionsParams)
    width = encoding.even_width
    length, size, dimensions, rate, seed = st.columns([2, 2, 5, 2, 2], vertical_alignment="bottom")
    length.number_input("Positions", **bind_number(PositionsParams, "length"))
    size.number_input("Width D (even)", step=2, **bind_number(PositionsParams, "width", value=width))
    dimensions.multiselect(
        f"Dimensions, up to {MAX_DIMENSIONS}",
        range(width),
        max_selections=MAX_DIMENSIONS,
        **bind(PositionsParams, "dimensions", value=encoding.shown),
    )
    rate.number_input("Dropout, %", step=5, **bind_number(PositionsParams, "drop"))
    seed.number_input("Seed", **bind_number(PositionsParams, "seed"))
    table = sinusoids(encoding.length, width)
    chosen = list(encoding.shown)
    pair = [min(each, encoding.length) for each in (encoding.first, encoding.second)]
    gain = 1 / (1 - encoding.drop / 100)
    plain, dropped = st.columns(2, gap="medium")
    with (
        plain,
        main_figure(
            "**Positional encoding:** each dimension is a sine or a cosine of the position",
            "Dimensions that oscillate fast tell neighbours apart; slow ones tell the beginning from the end",
        ),
    ):
        st.markdown("**What is added to every embedding**")
        show_plotly(
            curves(table[:, chosen], chosen, pair, gain),
            key="positions_curves",
            alt=f"Values of dimensions {chosen} of {width} by position; the tables below have the numbers.",
            sentence="",
        )
    with dropped:
        st.markdown(f"**In training, with {encoding.drop}% dropout**")
        thinned = dropout(table, rate=encoding.drop / 100, seed=encoding.seed)
        show_plotly(
            curves(thinned[:, chosen], chosen, pair, gain),
            key="positions_dropped",
            alt=f"The same curves after dropout: {(thinned == 0).mean():.1%} of all values are 0.",
            sentence="",
        )
    hit = (thinned == 0)[table != 0].mean()
    st.caption(
        "Each dimension is a sine or a cosine. Drag over a plot to zoom; double-click to zoom out. Dropout sets "
        f"{encoding.drop}% of the values to 0 at random ({hit:.1%} here) and multiplies the others by 1 / (1 − "
        f"{encoding.drop / 100:g}) = {gain:.2f}. So each value's mean over many draws stays the same. In training, "
        "dropout is applied to the sum of embedding and position; when the model translates, dropout is off."
    )
    both = np.hstack([table[:, chosen], thinned[:, chosen]])
    numbers = pd.DataFrame(both, columns=[f"{each}{what}" for what in ("", ", with dropout") for each in chosen])
    numbers.insert(0, "position", range(1, len(table) + 1))
    show_numbers(numbers, "positions_curve_numbers", label="Values of the curves, by dimension")
    whose = st.container()
    _show_two_positions(table, chosen, pair)
    _show_wavelengths(width, chosen)
    # Fill this container last, because only its text needs the model, which may take time to load.
    with whose:
        _show_model(translator().config, width)


def _show_model(ours: TransformerConfig, width: int) -> None:
    """For a model with sinusoids, state whether the plots use the model's width D. If not, offer a button to use it."""
    if ours.positions != "sinusoidal":
        return
    if width == ours.d_model:
        st.markdown(f"These are the curves of this app's model: **D = {width}**.")
        return
    words, place = st.columns([7, 3], vertical_alignment="center")
    words.markdown(f"These are the curves of a model with D = {width}. This app's model has D = {ours.d_model}.")
    place.button(
        f"Use the model's D = {ours.d_model}",
        key="positions_ours",
        **setting(PositionsParams, width=ours.d_model),
        width="stretch",
    )


def curves(values: np.ndarray, dimensions: list[int], marked: list[int], most: float) -> go.Figure:
    """Return a line chart of encoding values by position, with one line per dimension.

    Args:
        values: the encoding values, [P, N].
        dimensions: the numbers of the N dimensions.
        marked: the 1-based positions to mark with a vertical line.
        most: the largest absolute value that the vertical axis has to show. Pass the same value for plots that users
            compare.
    """
    figure = go.Figure(
        [
            go.Scatter(x0=1, y=column, name=f"dimension {dimension}", hovertemplate="%{y:.4f}")
            for column, dimension in zip(values.T, dimensions, strict=True)
        ]
    )
    for position in marked:
        figure.add_vline(x=position, line={"dash": "dot", "width": 1, "color": MASKED})
    figure.update_layout(
        height=400,
        hovermode="x unified",
        margin={"l": 0, "r": 0, "t": TOOLBAR_HEIGHT, "b": 0},
        legend={"orientation": "h", "yanchor": "top", "y": -0.22, "x": 0},
    )
    figure.update_xaxes(title="position", unifiedhovertitle={"text": "position %{x}"})
    figure.update_yaxes(title="value of the encoding", zeroline=True, range=[-1.08 * most, 1.08 * most])
    return figure


def _show_two_positions(table: np.ndarray, chosen: list[int], pair: list[int]) -> None:
    st.subheader("What tells two positions apart?", anchor=False)
    pick, numbers = st.columns([3, 7], gap="large")
    with pick, st.container(horizontal=True):
        st.number_input("Position", **bind_number(PositionsParams, "first", maximum=len(table)))
        st.number_input("and position", **bind_number(PositionsParams, "second", maximum=len(table)))
    one, other = table[np.array(pair) - 1]
    apart = float(np.linalg.norm(one - other))
    pick.markdown(
        f"Over all {table.shape[1]} dimensions, positions {pair[0]} and {pair[1]} are **{apart:.2f}** apart "
        "(the square root of the sum of all squared differences). The plots mark both positions with dotted lines. "
        "Positions are numbered from 1, like the tokens of a sentence."
    )
    with numbers:
        show_table(
            pd.DataFrame(
                {
                    "dimension": chosen,
                    f"position {pair[0]}": one[chosen],
                    f"and position {pair[1]}": other[chosen],
                    "difference": (one - other)[chosen],
                }
            ),
            "positions_pair",
        )


def _show_wavelengths(width: int, chosen: list[int]) -> None:
    st.subheader("Wavelengths", anchor=False)
    lengths = wavelengths(width)
    words, numbers = st.columns([3, 7], gap="large")
    words.markdown(
        f"The first pair of dimensions repeats every 2π = **{lengths[0]:.4f}** positions. With D = {width}, the last "
        f"pair repeats every 2π · 10000^({width - 2}/{width}) = **{lengths[-1]:,.2f}**. The exponent never reaches 1, "
        f"so no wavelength reaches the limit 2π · 10000 = {2e4 * np.pi:,.2f}. In the table, *pos* starts at 0, "
        "like the dimensions, so it is the position minus 1."
    )
    with numbers:
        show_table(wave_table(width, chosen), "positions_waves", digits=4)
        show_numbers(wave_table(width, list(range(width))), "positions_all_waves", label="All dimensions", digits=4)


def wave_table(width: int, dimensions: list[int]) -> pd.DataFrame:
    """Return a table with one row per dimension: its function and its wavelength."""
    lengths = wavelengths(width)
    return pd.DataFrame(
        {
            "dimension": dimensions,
            "function": [
                f"{'cos' if dimension % 2 else 'sin'}(pos · 10000^(−{dimension // 2 * 2}/{width}))"
                for dimension in dimensions
            ],
            "wavelength, positions": [lengths[dimension // 2] for dimension in dimensions],
        }
    )
