"""Charts of gradient norms across the layers, in the trained model and in untrained pre-norm and post-norm models."""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.backpropagation.gradient_runs import POST, PRE, TRAINED, sizes_of
from pages.ui.backpropagation.loss import pick_loss
from pages.ui.charts.matrix import AXIS
from pages.ui.charts.palette import SERIES
from pages.ui.charts.series import series_colour
from pages.ui.charts.tables import show_numbers
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.params.backpropagation import NETWORK, STREAM, BackpropagationParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import segments
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.shapes import stream_points
from transformer.backpropagation.norm_placement import GradientSizes
from transformer.values.trace import PARTS, STACKS, Stack

NAMES = {STREAM: "In the residual stream", NETWORK: "In the feed-forward network’s second matrix"}
AFTER = {STREAM: "after layer and sub-layer", NETWORK: "layer"}

COLOURS = {TRAINED: SERIES[3], PRE: SERIES[1], POST: SERIES[2]}


def show_sizes(reading: Reading) -> None:
    """Show one chart for the encoder and one for the decoder, each with three models, on a common vertical scale."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pick_loss(reading)
        segments("Size of the gradient", NAMES, BackpropagationParams, "quantity")
    st.markdown(
        "How much of the loss’s gradient reaches each layer? Three models of the same size read this sentence: this "
        "model, a pre-norm model with random weights, and a post-norm model with random weights.",
        help=explain("pre-norm", "post-norm", "gradient"),
    )
    quantity = session.params(BackpropagationParams).quantity
    sizes = sizes_of(reading)
    tables = {stack: size_table(sizes, stack, quantity) for stack in STACKS}
    limits = _limits([*tables.values()])
    for column, stack in zip(st.columns(2, gap="large"), STACKS, strict=True):
        # The decoder's chart is the main figure, because the decoder has more sub-layers.
        with (
            column,
            main_figure(
                f"**How much of the gradient reaches each {stack} layer:** {markdown(reading.trace.source_text)}",
                "Read from right to left. A flat line means that every layer gets the same amount (logarithmic scale)",
                when=stack == "decoder",
            ),
        ):
            st.markdown(f"**{stack.capitalize()}**")
            show_altair(
                size_chart(tables[stack], AFTER[quantity], limits),
                key=f"backward_sizes_{stack}",
                alt=f"{stack.capitalize()}: the gradient's norm across the layers; the table lists the values.",
            )
            show_numbers(tables[stack], f"backward_size_numbers_{stack}", label=f"The numbers for the {stack}")
    st.markdown(describe_growth(sizes))
    st.caption(
        "Both charts share one logarithmic scale. For the residual stream, the Euclidean norm of the gradient is "
        "averaged over the positions. Read the charts from right to left, the direction in which the gradient "
        "travels. Compare figure 3 of Xiong et al. 2020, “On Layer Normalization in the Transformer Architecture”, "
        "which shows the norms for the second feed-forward matrix.",
        help=explain("norm of a vector", "residual stream"),
    )


def size_table(sizes: Mapping[str, GradientSizes], stack: Stack, quantity: str) -> pd.DataFrame:
    """Return a table of gradient norms, with one row per sub-layer or layer and one column per model.

    Args:
        sizes: the gradient norms, by model name.
        stack: the stack to show.
        quantity: STREAM for the residual stream, before the first sub-layer and after each one; NETWORK for the second
            matrix of each layer's feed-forward network.
    """
    values = {name: (each.stream if quantity == STREAM else each.network)[stack] for name, each in sizes.items()}
    count = len(next(iter(values.values())))
    names = [str(number + 1) for number in range(count)]
    if quantity == STREAM:
        names = stream_points(PARTS[stack], count)
    return pd.DataFrame({AFTER[quantity]: names, **values})


def _limits(tables: Sequence[pd.DataFrame]) -> tuple[float, float]:
    """Return limits for a logarithmic axis: the smallest and largest positive values of all tables, with a margin."""
    numbers = np.concatenate([table.iloc[:, 1:].to_numpy().ravel() for table in tables])
    numbers = numbers[numbers > 0]
    return float(numbers.min()) / 1.5, float(numbers.max()) * 1.5


def size_chart(table: pd.DataFrame, place: str, limits: tuple[float, float]) -> alt.Chart:
    """Return a line chart of gradient norms, with one line per model.

    Args:
        table: a table made by `size_table`.
        place: the name of the table's first column, which lists the layers or sub-layers.
        limits: lower and upper limit of the vertical axis.
    """
    names = list(table[place])
    powers = [10.0**power for power in range(-9, 9) if limits[0] <= 10.0**power <= limits[1]]
    long = table.melt(place, var_name="model", value_name="size")
    return (
        alt.Chart(long)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                f"{place}:N", sort=names, title=place, axis=alt.Axis(labelAngle=-60 if len(names) > 8 else 0, **AXIS)
            ),
            y=alt.Y(
                "size:Q",
                title="norm of the gradient",
                scale=alt.Scale(type="log", domain=list(limits)),
                axis=alt.Axis(values=powers, format="~g", **AXIS),
            ),
            color=series_colour("model", COLOURS, columns=2),
            tooltip=[f"{place}:N", "model:N", alt.Tooltip("size:Q", format=".4f")],
        )
        .properties(height=420)
    )


def describe_growth(sizes: Mapping[str, GradientSizes]) -> str:
    """Return Markdown that compares the gradients of the second feed-forward matrix in the decoder's last and first
    layers.
    """
    ratios = {name: float(each.network["decoder"][-1] / each.network["decoder"][0]) for name, each in sizes.items()}
    return (
        "Compare the gradients of the feed-forward network’s second matrix in the decoder’s last and first layers. In "
        f"the untrained pre-norm model, the last layer’s gradient is **{ratios[PRE]:.2f}** times as large as the first "
        f"layer’s. This ratio is **{ratios[POST]:.2f}** in the untrained post-norm model and {ratios[TRAINED]:.2f} in "
        "this trained model. Where the last layers get far larger gradients than the first, large "
        "steps would spoil the last layers. Training then has to start with small steps (a warm-up)."
    )
