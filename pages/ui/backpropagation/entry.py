"""Shows one gradient entry as computed by hand, by autograd and by finite difference, and as a sum of terms."""

import numpy as np
import streamlit as st

from pages.ui.backpropagation.gradient_matrix import GradientMatrix, terms_table
from pages.ui.backpropagation.gradient_runs import finite_difference_of
from pages.ui.charts.heatmap import heatmap
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import diverging
from pages.ui.charts.tables import numbered_labels, show_table
from pages.ui.components.save_as import show_clickable, show_plotly
from pages.ui.layout.roles import main_figure
from pages.ui.params.backpropagation import BackpropagationParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import key_for, preset, setting
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from transformer.backpropagation.stage import GradientStage

# A gradient with more than MAX_CELLS entries is shown as an image. A clickable map then shows only a window around the
# chosen entry; WINDOW is the window's number of rows and columns.
MAX_CELLS = 900
WINDOW = (9, 12)
DIGITS = 6


def show_entry(stage: GradientStage, gradient: GradientMatrix, reading: Reading) -> None:
    """Show a gradient as a clickable map, and details of the entry that the user chose.

    Args:
        stage: the stage of the backward pass.
        gradient: the stage's gradient as a labelled matrix.
        reading: the sentence and its model run.
    """
    params = session.params(BackpropagationParams)
    row, column = gradient.place(params.row, params.column)
    picture, numbers = st.columns([6, 5], gap="large")
    with (
        picture,
        main_figure(
            f"**Gradient of the loss, {stage.name}:** {markdown(reading.trace.source_text)}",
            "Red: increasing the number raises the loss. Blue: increasing it lowers the loss. Largest magnitude: "
            f"{typeset(float(np.abs(gradient.values).max()), 4)}",
        ),
    ):
        is_large = gradient.values.size > MAX_CELLS
        if is_large:
            _show_image(stage, gradient)
        else:
            _show_map(stage, gradient, row, column)
    if is_large:
        with picture:
            st.caption(
                "This map shows only the entries near the chosen one. Click an entry, or choose any row and column in "
                "the boxes."
            )
            _show_map(stage, gradient, row, column)
    with numbers:
        _show_boxes(gradient, row, column)
        _show_number(stage, gradient, reading, row, column)
    _show_sum(stage, gradient, reading, row, column)


def _show_image(stage: GradientStage, gradient: GradientMatrix) -> None:
    """Show a large gradient as one image, because the cells would be too small to click."""
    show_plotly(
        heatmap(
            gradient.visible_values(stage.masked),
            titles=gradient.titles,
            name="gradient",
            rows=gradient.rows,
            columns=gradient.columns,
            height=250,
        ),
        key="backward_whole",
        alt=f"The whole gradient: {stage.name}; the table below lists the values.",
    )


def _show_map(stage: GradientStage, gradient: GradientMatrix, row: int, column: int) -> None:
    """Show the gradient, or a window around the chosen entry if the gradient is large, as a clickable map."""
    rows, columns = (
        [str(number) for number in range(size)] if labels is None else labels
        for labels, size in zip((gradient.rows, gradient.columns), gradient.values.shape, strict=True)
    )
    values, masked = gradient.values, stage.masked
    most = float(np.abs(values).max()) or 1.0
    tops, lefts = slice(None), slice(None)
    if values.size > MAX_CELLS:
        tops, lefts = (
            slice(start, start + size)
            for size, start in zip(WINDOW, _window_start((row, column), values.shape), strict=True)
        )
    top, left = tops.start or 0, lefts.start or 0
    chart = matrix(
        values[tops, lefts],
        rows[tops],
        columns[lefts],
        name="gradient",
        scale=diverging(most),
        titles=gradient.titles,
        mask=None if masked is None else ~masked[tops, lefts],
        picked=(row - top, column - left),
    )
    if len(values) == 1:
        chart = chart.properties(height=200)
    show_clickable(
        chart,
        # Streamlit stores a chart's last click under the chart's key. A new key for each entry discards the old click.
        key=f"backward_map_{stage.key}_{row}_{column}",
        clicked=lambda at, of: session.update(BackpropagationParams, row=top + at + 1, column=left + of + 1),
        alt=f"{stage.name}: the gradient near row {row + 1}, column {column + 1}; to pick an entry, click it or use "
        "the select boxes.",
    )


def _window_start(place: tuple[int, int], shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the first row and column of a window of size WINDOW, centred on a cell but kept within the matrix."""
    top, left = (
        max(0, min(at - size // 2, length - size)) for at, size, length in zip(place, WINDOW, shape, strict=True)
    )
    return top, left


def _show_boxes(gradient: GradientMatrix, row: int, column: int) -> None:
    """Show select boxes for the row and column, and a button that jumps to the entry with the largest magnitude."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name, title, labels, size, at, other in (
            ("row", gradient.titles[0], gradient.rows, gradient.values.shape[0], row, {"column": column + 1}),
            ("column", gradient.titles[1], gradient.columns, gradient.values.shape[1], column, {"row": row + 1}),
        ):
            if size == 1:
                continue
            names = [str(number) for number in range(size)] if labels is None else numbered_labels(labels)
            key = key_for(f"backward_{name}", names)

            def store(key: str = key, name: str = name, other: dict[str, int] = other) -> None:
                session.update(BackpropagationParams, **{name: st.session_state[key] + 1}, **other)

            st.selectbox(
                title.capitalize(),
                range(size),
                key=preset(key, at),
                format_func=names.__getitem__,
                on_change=store,
                width=210,
            )
        st.button("The largest", **setting(BackpropagationParams, row=0, column=0))


def _show_number(stage: GradientStage, gradient: GradientMatrix, reading: Reading, row: int, column: int) -> None:
    """Show the entry by hand, autograd and finite difference, and the weight or activation whose gradient it is."""
    at = row, int(gradient.chosen[column])
    by_hand, by_autograd = stage.matrix[at], stage.reference[at]
    difference = finite_difference_of(reading, stage, *at)
    first, second = st.columns(2), st.columns(2)
    first[0].metric("By hand", typeset(by_hand, DIGITS))
    first[1].metric(
        "Autograd",
        typeset(by_autograd, DIGITS),
        help="PyTorch’s automatic differentiation of the model itself, in float64.",
    )
    second[0].metric("Finite difference", typeset(difference, DIGITS), help=explain("finite difference"))
    second[1].metric(
        "Value of the number" if not stage.learned else "Value of the weight", typeset(stage.values[at], DIGITS)
    )
    if stage.masked is not None and stage.masked[at]:
        st.markdown("The mask hides this cell, so its gradient is exactly 0: the model cannot learn from later tokens.")
        return
    verb = "fall" if by_hand < 0 else "rise"
    st.markdown(
        f"The formula and autograd differ by {typeset(abs(by_hand - by_autograd), '.0e')}. The formula and the "
        f"finite difference differ by {typeset(abs(by_hand - difference), '.0e')}. If the number in the chosen "
        f"cell grew by 0.01, the loss would {verb} by about {typeset(abs(by_hand) * 0.01, DIGITS)}."
        if by_hand
        else "The gradient is exactly 0: a tiny change to the number in this cell does not change the loss."
    )


def _show_sum(stage: GradientStage, gradient: GradientMatrix, reading: Reading, row: int, column: int) -> None:
    """Show the gradient entry as a sum of terms, with all numbers filled in."""
    if stage.terms_of is None:
        st.caption("This gradient was computed in another layer. Choose that layer above to see its terms.")
        return
    st.markdown("**The sum in numbers**")
    terms = stage.terms_of.terms(row, int(gradient.chosen[column]))
    table = terms_table(terms, reading.trace, reading.translator.tokenizer, reading.languages)
    show_table(table, "backward_sum", height="auto" if len(table) <= 10 else 330)
    off = abs(terms.total - stage.matrix[row, int(gradient.chosen[column])])
    count = len(terms.products)
    added = f"The {count:,} terms add up to" if count > 1 else "That is"
    agrees = f"within {typeset(off, '.0e')} of the gradient above" if off else "exactly the gradient above"
    st.markdown(f"{added} **{typeset(terms.total, DIGITS)}**, {agrees}.")
