"""Shows, step by step, how one cell of an attention map is computed."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES, column_labels, place_of, row_labels
from pages.ui.charts.heatmap import heatmap
from pages.ui.charts.matrix import AXIS
from pages.ui.charts.palette import FIRST, SECOND
from pages.ui.charts.tables import numbered_labels, show_numbers, show_table
from pages.ui.components.save_as import show_altair, show_plotly
from pages.ui.heads.head_picker import pick_head, pick_kind, picked_cell
from pages.ui.heads.head_reading import HeadReading
from pages.ui.inside_a_layer.cell_picker import (
    open_positions,
    show_cell_boxes,
    show_cell_map,
    show_summary,
    weight_elsewhere,
)
from pages.ui.inside_a_layer.cell_tables import product_table, softmax_table, term_table, value_table
from pages.ui.layout.roles import main_figure
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import DECIMALS, typeset
from transformer.analysis.replay.cell import Cell, cell
from transformer.analysis.replay.contributions import Contributions, contributions
from transformer.analysis.replay.identifiability import head_identifiability
from transformer.analysis.view import axes_of
from transformer.values.trace import Kind, Trace


def show_cell(reading: HeadReading) -> None:
    """Show a map on which the user picks a cell, a summary of the cell, and every step of the computation."""
    trace = reading.detailed()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = pick_kind(trace.kinds, InsideParams, TITLES)
        choice = pick_head(reading, kind, InsideParams.PREFIX)
    layer, head = choice.layer, choice.head
    axes = axes_of(trace, kind)
    rows, columns = row_labels(axes), column_labels(axes)
    row, column = picked_cell(trace, kind, choice)
    looks, looked_at = (
        f"**{markdown(labels[at])}**{place_of(labels, at)}" for labels, at in ((rows, row), (columns, column))
    )
    computation = cell(trace, reading.weights(), kind, layer, head, row, column)
    layer_terms = contributions(trace, reading.weights(), kind, layer)
    picture, numbers = st.columns([5, 6], gap="large")
    with (
        picture,
        main_figure(
            f"**{TITLES[kind]}, layer {layer + 1}, head {head + 1}:** {markdown(trace.text)}",
            f"{looks} looks at {looked_at}: {typeset(computation.weight, 2)}",
        ),
    ):
        show_cell_map(trace, kind, choice, rows, columns, (row, column))
    with numbers:
        show_cell_boxes(kind, choice, rows, columns, (row, column))
        show_summary(computation, looks, looked_at, float(np.linalg.norm(computation.weighted_values[column])))
        elsewhere = weight_elsewhere(trace, kind, choice, row, column)
        if elsewhere is not None:
            st.caption(elsewhere)
        if kind != "cross":
            open_positions(reading.config, row, column)
    _show_score(computation)
    _show_softmax(computation, columns, column)
    _show_values(computation, columns, column)
    stream_change = _stream_change(trace, kind, layer, row) if reading.config.norm == "pre" else None
    _show_output(computation, layer_terms, columns, row, head, stream_change)
    _show_uniqueness(trace, reading, kind, layer, head, row, columns)


def _show_score(computation: Cell) -> None:
    """Show steps 1 and 2: the dot product of query and key, and the division by √K."""
    st.subheader("1 and 2. Query times key, divided by √K", anchor=False)
    width, score = len(computation.query), computation.raw_score / computation.divisor + computation.bias
    biased = ""
    if computation.bias:
        biased = f", and adding the distance bias {typeset(computation.bias, '.6f')} gives {typeset(score, '.6f')}"
    picture, sums = st.columns([5, 6], gap="large")
    with picture:
        show_plotly(
            heatmap(
                np.stack([computation.query, computation.key, computation.products]),
                titles=("vector", "dimension of the head"),
                name="value",
                rows=["q", "k", "q × k"],
                height=230,
            ),
            key="inside_vectors",
            alt="The query, the key, and their element-wise product; the table lists the values.",
        )
        st.markdown(
            f"The {width} products add up to **{typeset(computation.raw_score, '.6f')}** (the last row of the table). "
            f"Divided by √{width} = {computation.divisor:.6f}, the sum is "
            f"{typeset(computation.raw_score / computation.divisor, '.6f')}{biased}. The trace contains "
            f"**{typeset(computation.score, '.6f')}**, {_largest_difference(score, computation.score)}."
        )
    with sums:
        show_table(product_table(computation), "inside_products", height=330)


def _show_softmax(computation: Cell, columns: list[str], column: int) -> None:
    """Show steps 3 and 4: the mask and the softmax."""
    st.subheader("3 and 4. The mask, and the softmax of the whole row", anchor=False)
    total = computation.exponentials.sum()
    words, sums = st.columns([5, 6], gap="large")
    with words:
        st.latex(r"a_{ij} = \frac{e^{s_{ij} - \max_j s_{ij}}}{\sum_{j'} e^{s_{ij'} - \max_j s_{ij}}}")
        st.markdown(
            f"The row can attend to {int(computation.row_allowed.sum())} of {len(columns)} columns; any other score "
            f"becomes −∞. The exponentials add up to {total:.6f}, and {typeset(computation.exponentials[column], 6)} ÷ "
            f"{total:.6f} = {typeset(computation.exponentials[column] / total, 6)}. The trace contains "
            f"**{typeset(computation.weight, 6)}**, "
            f"{_largest_difference(computation.exponentials[column] / total, computation.weight)}. The row's weights "
            f"add up to {computation.weights.sum():.6f}."
        )
        st.caption(
            "The largest score is subtracted before exp, so that no number gets too large. This does not change the "
            "weights."
        )
    with sums:
        show_table(softmax_table(computation, columns), "inside_softmax")


def _show_values(computation: Cell, columns: list[str], column: int) -> None:
    """Show step 5: the value vectors, multiplied by the weights and added up."""
    st.subheader("5. Values, weighted and added", anchor=False)
    picture, sums = st.columns([5, 6], gap="large")
    with picture:
        show_plotly(
            heatmap(
                np.vstack([computation.weighted_values, computation.output]),
                rows=[*numbered_labels(columns), "sum: the head’s output"],
                titles=("weight × value, per token", "dimension of the head"),
                name="value",
            ),
            key="inside_values",
            alt="The weighted value vector of every column, and the sum; the table lists the values.",
        )
    with sums:
        show_table(value_table(computation, columns), "inside_value_sums")
        off = np.abs(computation.weighted_values.sum(axis=0) - computation.output).max()
        st.markdown(
            "Each row of the table is weight × value for one column of the map. The sum is the head’s output for the "
            f"row’s token. The largest difference from the trace is {typeset(off, '.1e')}."
        )


def _stream_change(trace: Trace, kind: Kind, layer: int, row: int) -> np.ndarray:
    """Return the vector [D] that a pre-norm model's attention sub-layer adds to the residual stream at one position."""
    stack = "encoder" if kind == "encoder" else "decoder"
    part = "cross_attention" if kind == "cross" else "self_attention"
    before, after = (stream[row].astype(np.float64) for stream in trace.residual(stack, layer, part))
    return after - before


def _show_output(
    computation: Cell,
    layer_terms: Contributions,
    columns: list[str],
    row: int,
    head: int,
    stream_change: np.ndarray | None,
) -> None:
    """Show step 6: the output projection, and the addition to the residual stream.

    Args:
        computation: the cell.
        layer_terms: the contributions of all heads in the sub-layer.
        columns: the labels of the columns.
        row, head: the cell's row and head.
        stream_change: the vector that the sub-layer added to the residual stream at this row, for comparison; None for
            post-norm.
    """
    st.subheader("6. Output projection, and addition to the residual stream", anchor=False)
    heads = layer_terms.heads()[:, row]
    output = layer_terms.output()[row]
    agrees = (
        ""
        if stream_change is None
        else (
            "; the stream in the trace changes by the same vector, to within "
            f"{typeset(np.abs(stream_change - output).max(), '.1e')}"
        )
    )
    picture, words = st.columns([5, 6], gap="large")
    with picture:
        table = term_table(computation, layer_terms, columns, row, head)
        show_altair(
            term_chart(table),
            key="inside_terms",
            alt="For each column, its weight and the norm of the vector that it adds; the table lists the values.",
        )
    with words:
        show_table(table, "inside_term_numbers", digits=4)
        share = float(computation.term @ computation.head_term / (computation.head_term @ computation.head_term or 1.0))
        term = float(np.linalg.norm(computation.term))
        st.markdown(
            f"This cell contributes the vector weight × v W^O, of norm **{typeset(term, DECIMALS)}**, to the head’s "
            f"term, which has norm {np.linalg.norm(computation.head_term):.2f}. The vector’s projection onto the "
            f"head’s term is {share:.1%} of that term. The terms of all {len(heads)} heads and b^O add up to the "
            f"sub-layer’s output, of norm {np.linalg.norm(output):.2f}{agrees}. A large weight on a short vector has "
            "little effect (Kobayashi et al. 2020): compare the two charts."
        )
        by_head = pd.DataFrame(
            {
                "head": [*(f"head {number}" for number in range(1, len(heads) + 1)), "b^O", "sum: sub-layer output"],
                "norm of the term": np.linalg.norm([*heads, layer_terms.bias, output], axis=-1),
            }
        )
        show_numbers(by_head, "inside_heads", label="The terms of all heads")
        terms = pd.DataFrame(
            {
                "dimension": range(len(output)),
                "this cell": computation.term,
                "this head": computation.head_term,
                "the sub-layer": output,
            }
        )
        show_numbers(terms, "inside_term_vector", label="The vectors, dimension by dimension")


def term_chart(table: pd.DataFrame) -> alt.VConcatChart:
    """Return two bar charts, one above the other: each column's weight, and the norm of the vector that it adds."""
    at = table.assign(at=range(1, len(table) + 1))
    axis = alt.Axis(labelAngle=0, **{**AXIS, "labelOverlap": True})
    charts = [
        alt.Chart(at)
        .mark_bar(color=colour)
        .encode(
            x=alt.X("at:O", title="column (the attended token)", axis=axis),
            y=alt.Y(f"{name}:Q", title=name, axis=alt.Axis(**AXIS)),
            tooltip=["column:N", alt.Tooltip(f"{name}:Q", format=".4f")],
        )
        .properties(height=130, width="container")
        for name, colour in (("weight", FIRST), ("norm written", SECOND))
    ]
    return alt.vconcat(*charts)


def _show_uniqueness(
    trace: Trace, reading: HeadReading, kind: Kind, layer: int, head: int, row: int, columns: list[str]
) -> None:
    """Show whether other attention weights would give the same output."""
    st.subheader("Could other weights have given the same output?", anchor=False)
    identifiable = head_identifiability(trace, reading.weights(), kind, layer, head)
    visible, rank = int(identifiable.visible[row]), int(identifiable.rank[row])
    if visible > identifiable.width:
        free, sum_keeping = int(identifiable.null_dimensions[row]), int(identifiable.sum_keeping[row])
        if free == 1:
            sum_sentence = f"In this direction, the weights {'still' if sum_keeping else 'no longer'} sum to 1."
        else:
            sum_sentence = f"The weights still sum to 1 in {sum_keeping or 'none'} of these directions."
        st.warning(
            ("Yes" if sum_keeping else "Only if the weights need not sum to 1")
            + f": this row sees n = {visible} columns, and a value vector has only K = {identifiable.width} numbers. "
            f"Because n > K, the weights can change in {_directions(free)} without changing the output. {sum_sentence}"
            + (
                " The weights are one of many explanations of this output (Brunner et al. 2020)." if sum_keeping else ""
            ),
            icon=":material/info:",
        )
    else:
        st.markdown(
            f"This row sees n = {visible} columns, and a value vector has K = {identifiable.width} numbers, so n ≤ K. "
            f"The rank of the visible value vectors is {rank}"
            + (
                ", so these weights are the only ones that give this output."
                if rank == visible
                else f", so the weights can still change in {_directions(visible - rank)} without changing the output."
            )
            + " If n > K, there are always other weights that give the same output, and this page shows a warning."
        )
    table = pd.DataFrame(
        {
            "column": numbered_labels(columns),
            "weight": trace.attention(kind)[layer, head, row].astype(float),
            "effective weight": identifiable.effective[row],
            "weight without effect": identifiable.null[row],
        }
    )
    show_numbers(table, "inside_effective", label="Effective attention of this row")


def _directions(count: int) -> str:
    return f"{count} {'direction' if count == 1 else 'directions'}"


def _largest_difference(computed: float, traced: float) -> str:
    return f"{typeset(abs(computed - traced), '.1e')} away from the computed value, within float32 precision"
