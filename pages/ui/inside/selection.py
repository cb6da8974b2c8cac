"""Which layer and which head: the attention browser's choice, to be changed here as well."""

from __future__ import annotations

import streamlit as st

from pages.ui import state
from pages.ui.choice import Choice
from transformer.trace import Kind, Trace


def choose_head(trace: Trace, kind: Kind, page: str, *, head: bool = True) -> Choice:
    """Draw the boxes; returns the choice, kept to what the model has.

    Args:
        trace, kind: whose layers and heads.
        page: prefix of the boxes' keys.
        head: whether there is a head to be chosen.
    """
    counts = trace.attention(kind).shape[:2]
    choice = state.choice().within(*counts)
    for name, count in zip(("layer", "head") if head else ("layer",), counts, strict=False):
        key = f"{page}{name}"
        st.selectbox(
            name.capitalize(), range(count), key=state.hold(key, getattr(choice, name)), width=110,
            format_func=lambda number: str(number + 1),
            on_change=lambda key=key, name=name: state.change(**{name: st.session_state[key]}),
        )
    return choice


def chosen_cell(trace: Trace, kind: Kind, choice: Choice) -> tuple[int, int]:
    """Row and column of the cell that is pinned; where none is, the strongest of the chosen head.

    Links to special pieces count only if there are no others: heads rest there when they have nothing to do.
    """
    weights, mask = trace.attention(kind)[choice.layer, choice.head], trace.mask(kind)
    rows, columns = weights.shape
    if choice.rows or choice.columns:
        row = min(choice.rows[0], rows - 1) if choice.rows else None
        column = min(choice.columns[0], columns - 1) if choice.columns else None
        if row is None:
            row = int(weights[:, column].argmax())
        if column is None:
            column = int(weights[row].argmax())
        return row, column
    words = [not piece.special for piece in trace.keys(kind)]
    ranked = weights + mask + (mask & words)
    row, column = divmod(int(ranked.argmax()), columns)
    return row, column
