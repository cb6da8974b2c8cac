"""Controls that choose an attention kind, layer and head on pages without the attention browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from pages.ui.heads.head_reading import MapReading
from pages.ui.params.attention import AttentionParams
from pages.ui.params.compare_heads import CompareParams
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.state import session
from pages.ui.state.bind import bind, preset
from transformer.values.trace import Kind, Trace


def pick_kind(
    kinds: Sequence[Kind], of: type[CompareParams | InsideParams], titles: Mapping[Kind, str], **options: Any
) -> Kind:
    """Return the chosen attention kind; show the control that chooses it if the model has several.

    Args:
        kinds: the model's attention kinds.
        of: the class of the page's parameters.
        titles: the titles of the attention kinds.
        options: further options of `st.segmented_control`.
    """
    kind = shown_kind(kinds, of)
    if len(kinds) > 1:
        st.segmented_control(
            "Kind of attention",
            kinds,
            format_func=titles.__getitem__,
            required=True,
            **bind(of, "kind", value=kind),
            **options,
        )
    return kind


def shown_kind(kinds: Sequence[Kind], of: type[CompareParams | InsideParams]) -> Kind:
    """Return the chosen attention kind, or the model's first one if the model does not have the chosen one."""
    kind = session.params(of).kind
    return kind if kind in kinds else kinds[0]


def pick_head(reading: MapReading, kind: Kind, page: str, *, head: bool = True) -> AttentionParams:
    """Show select boxes for layer and head; return the choice, limited to the model's layers and heads.

    Args:
        reading: the text and its attention maps.
        kind: the attention kind.
        page: the prefix of the boxes' keys.
        head: whether the user chooses a head as well as a layer.
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
    """Return row and column of the pinned cell; if no cell is pinned, those of the chosen head's strongest link.

    Links to special tokens count only if there are no others, because idle heads park their attention on special
    tokens.
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
