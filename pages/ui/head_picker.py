"""Boxes that choose layer and head, on pages without the attention browser."""

from __future__ import annotations

import streamlit as st

from pages.ui import session
from pages.ui.bind import preset
from pages.ui.params.attention import AttentionParams
from pages.ui.sentence import Reading
from transformer.trace import Kind, Trace


def pick_head(reading: Reading, kind: Kind, page: str, *, head: bool = True) -> AttentionParams:
    """Draw the boxes; returns the choice, limited to the layers and heads of the model.

    Args:
        reading, kind: whose layers and heads.
        page: prefix of the boxes' keys.
        head: whether there is a head to be chosen.
    """
    counts = reading.trace.attention(kind).shape[:2]
    choice = reading.choice(kind)
    for name, count in zip(("layer", "head") if head else ("layer",), counts, strict=False):
        key = f"{page}{name}"
        st.selectbox(
            name.capitalize(), range(count), key=preset(key, getattr(choice, name)), width=110,
            format_func=lambda number: str(number + 1),
            on_change=lambda key=key, name=name: session.update_attention(
                **{"layer": choice.layer, "head": choice.head, name: st.session_state[key]}
            ),
        )
    return choice


def picked_cell(trace: Trace, kind: Kind, choice: AttentionParams) -> tuple[int, int]:
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
    words = [not piece.special for piece in trace.key_pieces(kind)]
    ranked = weights + mask + (mask & words)
    row, column = divmod(int(ranked.argmax()), columns)
    return row, column
