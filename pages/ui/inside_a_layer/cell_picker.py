"""Shows a map and select boxes to pick a cell, a summary of the cell, and a button to open "Positional encoding"."""

import numpy as np
import streamlit as st

from attention_atlas.browser.labels import TITLES, titles
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import frame, numbered_labels, show_numbers
from pages.ui.components.save_as import show_clickable
from pages.ui.params.attention import AttentionParams
from pages.ui.params.positional_encoding import PositionsParams
from pages.ui.state import session
from pages.ui.state.bind import key_for, preset, setting
from pages.ui.text.number_format import DECIMALS, formatted, typeset
from transformer.analysis.replay.cell import Cell
from transformer.analysis.view import view_of
from transformer.config import TransformerConfig
from transformer.values.trace import Kind, Trace

MAP = "inside_map"
# Session-state key for the current chart's number and the cell last clicked in that chart.
CLICKED = "_inside_clicked"


def show_cell_map(
    trace: Trace, kind: Kind, choice: AttentionParams, rows: list[str], columns: list[str], picked: tuple[int, int]
) -> None:
    """Show a table of all weights and one head's attention map, on which a click picks a cell.

    Args:
        trace: the trace of the model run.
        kind: the attention kind.
        choice: the layer and head.
        rows, columns: the labels of the rows and the columns.
        picked: the row and column of the picked cell.
    """
    weights = trace.attention(kind)[choice.layer, choice.head]
    # Streamlit remembers the last cell clicked in a chart, and reports no second click on that cell. If the user picks
    # another cell in the select boxes, show a new chart, in which every cell can be clicked.
    number, last = st.session_state.get(CLICKED, (0, None))
    if last not in (None, picked):
        number, last = number + 1, None
    st.session_state[CLICKED] = number, last
    key = f"{MAP}_{kind}_{number}"

    def clicked(row: int, column: int) -> None:
        st.session_state[CLICKED] = number, (row, column)
        session.update_attention(kind, type(choice), rows=(row,), columns=(column,))

    # This line of text above the map keeps the map's toolbar from covering the controls.
    st.markdown(f"**Layer {choice.layer + 1}, head {choice.head + 1}**")
    show_clickable(
        matrix(
            weights,
            rows,
            columns,
            name="weight",
            scale=sequential(),
            titles=titles(False),
            mask=trace.mask(kind),
            picked=picked,
            square=True,
        ),
        key=key,
        width="content",
        clicked=clicked,
        alt=f"{TITLES[kind]}, layer {choice.layer + 1}, head {choice.head + 1}; to pick a cell, click it or use "
        "the select boxes.",
    )
    show_numbers(
        frame(np.where(trace.mask(kind), weights, -np.inf), rows, columns, corner="from"), "inside_map_numbers"
    )
    st.caption("Click a cell, or choose its row and its column in the boxes.")


def show_cell_boxes(
    kind: Kind, choice: AttentionParams, rows: list[str], columns: list[str], picked: tuple[int, int]
) -> None:
    """Show select boxes for the row and column of the picked cell; the arguments are those of `show_cell_map`."""
    row, column = picked
    for place, name, labels, at, other in zip(
        st.columns(2),
        ("rows", "columns"),
        (rows, columns),
        (row, column),
        (("columns", column), ("rows", row)),
        strict=True,
    ):
        names = numbered_labels(labels)
        key = key_for(f"inside_{name}", names)

        def store(key: str = key, name: str = name, other: tuple[str, int] = other) -> None:
            session.update_attention(kind, type(choice), **{name: (st.session_state[key],), other[0]: (other[1],)})

        place.selectbox(
            dict(zip(("rows", "columns"), titles(False), strict=True))[name].capitalize(),
            range(len(labels)),
            key=preset(key, at),
            format_func=names.__getitem__,
            on_change=store,
        )


def show_summary(computation: Cell, row: str, column: str, stream_change: float) -> None:
    """Show the result of each step of the cell's computation as a number or a word, and the weight in a sentence.

    Args:
        computation: the cell.
        row, column: the attending token and the attended token, as Markdown.
        stream_change: the norm of the value vector times the weight.
    """
    mask_state = "open" if computation.allowed else "masked"
    steps = {
        "1. q · k": typeset(computation.raw_score, DECIMALS),
        f"2. ÷ √{len(computation.query)}": typeset(computation.score, DECIMALS),
        "3. mask": mask_state,
        "4. weight": typeset(computation.weight, DECIMALS),
        "5. ‖weight × v‖": typeset(stream_change, DECIMALS),
        "6. ‖written‖": typeset(float(np.linalg.norm(computation.term)), DECIMALS),
    }
    for place, (label, value) in zip([*st.columns(3), *st.columns(3)], steps.items(), strict=True):
        place.metric(label, value)
    if computation.allowed:
        verb = f"attends to {column} with weight **{typeset(computation.weight, DECIMALS)}**"
    else:
        verb = f"cannot attend to {column}: the mask hides it, whatever its score"
    st.markdown(f"{row} {verb}.")


def weight_elsewhere(trace: Trace, kind: Kind, choice: AttentionParams, row: int, column: int) -> str | None:
    """Return Markdown that states the cell's weight on the attention page. Return None if the attention page hides
    the cell or shows the same weight as the current page.

    Args:
        trace: the trace of the model run.
        kind: the attention kind.
        choice: the settings of the attention page, which may merge tokens into words and hide special tokens.
        row, column: the position of the cell.
    """
    view = view_of(trace, kind, words=choice.words, special=not choice.hide)
    at = [
        next((number for number, group in enumerate(groups) if position in group), None)
        for groups, position in ((view.axes.row_positions, row), (view.axes.column_positions, column))
    ]
    if None in at:
        return None
    weight = float(view.weights[choice.layer, choice.head, at[0], at[1]])
    if formatted(weight) == formatted(float(trace.attention(kind)[choice.layer, choice.head, row, column])):
        return None
    changes = [
        *(["tokens are merged into words"] if choice.words else []),
        *(
            ["start and end symbols are hidden, with the rest of each row scaled up to a sum of 1"]
            if choice.hide
            else []
        ),
    ]
    return f"The attention page shows **{typeset(weight, DECIMALS)}**, because on that page {', and '.join(changes)}."


def open_positions(config: TransformerConfig, row: int, column: int) -> None:
    """If the model uses sinusoids, show a button that opens the "Positional encoding" page for two positions.

    The positions are `row` and `column`, or if these are equal, `row` and the next position.
    """
    column = row + 1 if row == column else column
    if config.positions == "sinusoidal" and st.button(
        f"How does position {row + 1} differ from position {column + 1}?",
        key="inside_positions",
        icon=":material/show_chart:",
        help="Shows this model's positional-encoding curves.",
        **setting(
            PositionsParams,
            part="curves",
            width=config.d_model,
            first=row + 1,
            second=column + 1,
            length=max(session.params(PositionsParams).length, row + 1, column + 1),
        ),
    ):
        st.switch_page("pages/positional_encoding.py")
