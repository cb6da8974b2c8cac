"""Shows layer norms and residual connections: pre-norm and post-norm, what a norm does, and what each sub-layer
adds to the stream.
"""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS
from pages.ui.charts.palette import FIRST, SECOND
from pages.ui.charts.series import series_colour
from pages.ui.charts.specification import FilledChart
from pages.ui.charts.tables import numbered_labels, show_numbers, show_table
from pages.ui.components.save_as import show_altair
from pages.ui.heads.head_picker import pick_head
from pages.ui.heads.head_reading import HeadReading
from pages.ui.inside_a_layer.norm_diagram import diagram
from pages.ui.layout.roles import main_figure
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.state import session
from pages.ui.state.bind import segments
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from pages.ui.text.shapes import stream_points, token_labels
from transformer.analysis.replay.residual import StreamSizes, SubLayer, stream_sizes, sublayer
from transformer.values.trace import Part

NAMES = {
    "self_attention": "self-attention",
    "cross_attention": "cross attention",
    "feed_forward": "feed-forward network",
}
PLACES = {"pre": "Pre-norm: x + f(norm(x))", "post": "Post-norm, as in Vaswani et al. 2017: norm(x + f(x))"}


def show_norm(reading: HeadReading) -> None:
    """Show diagrams of pre-norm and post-norm, the effect of one layer norm, and the residual stream's vector norm
    after each sub-layer.
    """
    trace, weights = reading.detailed(), reading.weights()
    placement = reading.config.norm
    for column, (place, title) in zip(st.columns(2, gap="medium"), PLACES.items(), strict=True):
        with column:
            st.markdown(
                f"**{title}**" + (" ← this model" if place == placement else ""),
                help=explain(f"{place}-norm", "layer norm", "residual connection"),
            )
            show_altair(
                FilledChart(diagram, (place,)),
                key=f"inside_diagram_{place}",
                alt=f"{title}. The residual connection bypasses the sub-layer and adds x to the sub-layer's output.",
                sentence="",
            )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(trace.stacks) > 1:
            segments("Stack", {stack: stack.capitalize() for stack in trace.stacks}, InsideParams, "stack")
        stack, part = session.params(InsideParams).stack, session.params(InsideParams).sublayer
        stack = stack if stack in trace.stacks else "decoder"
        parts = trace.parts(stack)
        part = part if part in parts else parts[0]
        segments("Sub-layer", {name: NAMES[name] for name in parts}, InsideParams, "sublayer", value=part)
        choice = pick_head(reading, stack, InsideParams.PREFIX, head=False)
    computation = sublayer(trace, weights, stack, choice.layer, part)
    labels = token_labels(trace, "S" if stack == "encoder" else "T")
    st.markdown(_describe_norm(computation, placement))
    show_table(spread_table(computation, labels), "inside_spread", digits=4)
    st.subheader(
        "The norms of the residual stream and of each sub-layer's output",
        anchor=False,
        help=explain("residual stream", "norm of a vector"),
    )
    sizes = stream_sizes(trace, weights, stack)
    table = size_table(sizes, parts)
    whose = f"{stack} " if len(trace.stacks) > 1 else ""
    with main_figure(
        f"**What every {whose}sub-layer writes to the stream:** {markdown(trace.text)}",
        f"Largest output: {table.iloc[table['written'].argmax()]['after']}, with norm {table['written'].max():.1f}; "
        f"the residual stream ends with norm {table['residual stream'].iloc[-1]:.1f}",
    ):
        show_altair(
            size_chart(table),
            key="inside_sizes",
            alt="Mean norm of the stream after each sub-layer, and of the sub-layer's output; the table lists both.",
        )
    st.markdown(_describe_growth(table))
    show_numbers(table, "inside_size_numbers")


def spread_table(computation: SubLayer, labels: list[str]) -> pd.DataFrame:
    """Return a table of the mean and standard deviation at each position: before the norm, after normalising, and after
    γ and β.

    Args:
        computation: the sub-layer.
        labels: the labels of the positions.
    """
    columns: dict[str, list[str] | np.ndarray] = {"token": numbered_labels(labels)}
    for name, values in (
        ("before", computation.norm_before),
        ("normalised", computation.normalised),
        ("after γ, β", computation.normed),
    ):
        # The mean of normalised values is 0 except for rounding errors. Rounding may give −0;
        # adding 0.0 turns it into 0.
        columns[f"mean {name}"], columns[f"dev. {name}"] = values.mean(axis=-1).round(9) + 0.0, values.std(axis=-1)
    return pd.DataFrame(columns)


def _describe_norm(computation: SubLayer, place: str) -> str:
    """Return Markdown that describes the effect of a sub-layer's norm.

    Args:
        computation: the sub-layer.
        place: "pre" or "post".
    """
    before, after = computation.norm_before.std(axis=-1), computation.normed.std(axis=-1)
    off = (
        float(np.abs(computation.summed - computation.after).max())
        if place == "pre"
        else float(np.abs(computation.normed - computation.after).max())
    )
    return (
        f"This sub-layer's norm reads the stream {'before the sub-layer' if place == 'pre' else 'after the addition'}. "
        "The norm brings each position to mean 0 and standard deviation 1; before, the standard deviations "
        f"ranged from {before.min():.2f} to {before.max():.2f}. The gain γ and the bias β then give standard "
        f"deviations from {after.min():.2f} to {after.max():.2f}. The result agrees with the trace's stream to within "
        f"{typeset(off, '.1e')}."
    )


def size_table(sizes: StreamSizes, parts: Sequence[Part]) -> pd.DataFrame:
    """Return a table of norms, averaged over the positions: one row for the embeddings and one for each sub-layer.

    Args:
        sizes: the norms at each position.
        parts: the names of a layer's sub-layers.
    """
    names = stream_points(parts, len(sizes.stream))
    output_sizes = np.concatenate([[np.nan], sizes.written.mean(axis=1)])
    stream = sizes.stream.mean(axis=1)
    return pd.DataFrame(
        {
            "after": names,
            "residual stream": stream,
            "written": output_sizes,
            "written ÷ previous residual stream": output_sizes / np.concatenate([[np.nan], stream[:-1]]),
        }
    )


def size_chart(table: pd.DataFrame) -> alt.LayerChart:
    """Return a chart with a line for the residual stream's norm and bars for the norm of each sub-layer's output."""
    names = list(table["after"])
    base = alt.Chart(table).encode(
        x=alt.X("after:N", sort=names, title="after layer and sub-layer", axis=alt.Axis(labelAngle=-60, **AXIS)),
        tooltip=["after:N", alt.Tooltip("residual stream:Q", format=".4f"), alt.Tooltip("written:Q", format=".4f")],
    )
    colour = series_colour("what", {"residual stream": FIRST, "written": SECOND})
    axis = alt.Axis(**AXIS)
    bars = (
        base.transform_calculate(what="'written'")
        .mark_bar()
        .encode(y=alt.Y("written:Q", title="mean Euclidean norm", axis=axis), color=colour)
    )
    line = (
        base.transform_calculate(what="'residual stream'")
        .mark_line(point=True)
        .encode(y=alt.Y("residual stream:Q", title="mean Euclidean norm", axis=axis), color=colour)
    )
    return layer_charts(bars, line, height=320)


def _describe_growth(table: pd.DataFrame) -> str:
    stream, most = table["residual stream"], table.iloc[table["written"].argmax()]
    return (
        f"The stream begins with a mean norm of **{stream.iloc[0]:.2f}** and ends with **{stream.iloc[-1]:.2f}**. "
        f"**{most['after']}** has the largest output, with a mean norm of {most['written']:.2f}. This is "
        f"{most['written ÷ previous residual stream']:.2f} times the mean norm of the stream before this sub-layer."
    )
