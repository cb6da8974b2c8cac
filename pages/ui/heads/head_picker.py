"""Widgets for choosing an attention kind, layer and head on pages without the attention browser."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from pages.ui.heads.head_reading import MapReading
from pages.ui.params.attention import AttentionParams
from pages.ui.params.compare_heads import CompareParams
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.state import session
from pages.ui.state.bind import preset, segments
from transformer.values.trace import Kind, Trace


def pick_kind(
    kinds: Sequence[Kind], of: type[CompareParams | InsideParams], titles: Mapping[Kind, str], **options: Any
) -> Kind:
    """Show a control for the attention kind if the model has several kinds, and return the chosen kind.

    Args:
        kinds: the model's attention kinds.
        of: the class of the page's parameters.
        titles: the titles of the attention kinds.
        options: further options for `st.segmented_control`.
    """
    chosen = shown_kind(kinds, of)
    if len(kinds) > 1:
        segments("Kind of attention", {kind: titles[kind] for kind in kinds}, of, "kind", value=chosen, **options)
    return chosen


def shown_kind(kinds: Sequence[Kind], of: type[CompareParams | InsideParams]) -> Kind:
    """Return the attention kind that the user chose; the model's first kind if the model lacks the chosen one."""
    kind = session.params(of).kind
    return kind if kind in kinds else kinds[0]


def pick_head(reading: MapReading, kind: Kind, page: str, *, head: bool = True) -> AttentionParams:
    """Show select boxes for layer and head, and return the choice, limited to the model's layers and heads.

    Args:
        reading: the text and its attention maps.
        kind: the attention kind.
        page: the prefix of the widgets' keys.
        head: whether to show the select box for the head.
    """
    counts = reading.trace.attention(kind).shape[:2]
    choice = reading.choice(kind)
    for name, count in zip(("layer", "head") if head else ("layer",), counts, strict=False):
        key = f"{page}{name}"
        st.selectbox(
            name.capitalize(),
            range(count),
            key=preset(key, getattr(choice, name)),
            width=110,
            format_func=lambda number: str(number + 1),
            on_change=lambda key=key, name=name: session.update_attention(
                of=type(choice), **{"layer": choice.layer, "head": choice.head, name: st.session_state[key]}
            ),
        )
    return choice


def picked_cell(trace: Trace, kind: Kind, choice: AttentionParams) -> tuple[int, int]:
    """Return the row and column of the first pinned cell.

    If only rows or only columns are pinned, return the cell with the largest weight in the first pinned row or column.
    Without pins, return the cell with the head's largest weight. Columns of special tokens then count only if all
    others are masked, because idle heads attend mostly to special tokens.
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
    words = [not token.special for token in trace.key_tokens(kind)]
    ranked = weights + mask + (mask & words)
    row, column = divmod(int(ranked.argmax()), columns)
    return row, column
