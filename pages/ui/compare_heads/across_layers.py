"""Shows what one word attends to in each layer."""

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES, column_labels, place_of, row_labels
from attention_atlas.browser.token_labels import isolate
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import numbered_labels, show_numbers
from pages.ui.components.save_as import show_altair
from pages.ui.heads.head_reading import MapReading
from pages.ui.heads.kinds import show_heads_chart
from pages.ui.heads.prose import prose
from pages.ui.layout.roles import main_figure
from pages.ui.params.attention import UNCHOSEN
from pages.ui.params.compare_heads import CompareParams
from pages.ui.state import session
from pages.ui.state.bind import bind, preset
from pages.ui.text.head_link import HeadLink
from pages.ui.text.markup import markdown
from transformer.analysis.heads.pattern import pattern
from transformer.analysis.view import View, view_of
from transformer.values.trace import Kind


def show_across_layers(reading: MapReading, kind: Kind) -> None:
    """Show one word's attention in three maps: for one head, for the mean of all heads, and for their maximum. Each map
    has one row per layer.

    Unless the user has chosen a word, the maps show the word whose row contains the chosen head's largest weight.
    """
    comparison = session.params(CompareParams)
    choice = reading.choice(kind)
    view = view_of(reading.trace, kind, words=choice.words, special=not choice.hide)
    labels = row_labels(view.axes)
    row = min(comparison.row, len(labels) - 1)
    if row != comparison.row:
        session.update(CompareParams, row=row)
        session.rewrite_address()
    if row == UNCHOSEN:
        row = clearest_row(view, choice.layer, choice.head)
    names = numbered_labels(labels)
    place, pick_head, pick_words = st.columns([4, 2, 2], vertical_alignment="bottom")
    place.selectbox(
        "Word to follow through the layers",
        range(len(labels)),
        format_func=names.__getitem__,
        **bind(CompareParams, "row", value=row, labels=names),
    )
    pick_head.selectbox(
        "Head",
        range(view.heads),
        key=preset("compare_head", choice.head),
        format_func=lambda head: str(head + 1),
        on_change=lambda: session.update_attention(
            of=type(choice), layer=choice.layer, head=st.session_state.compare_head
        ),
    )
    pick_words.toggle(
        "Words",
        key=preset("compare_words", choice.words),
        on_change=lambda: session.update_attention(of=type(choice), words=st.session_state.compare_words),
    )
    rows = view.weights[:, :, row]
    mask = np.broadcast_to(view.mask[row], rows[:, 0].shape)
    largest = (rows.argmax(axis=1) + 1).astype(str)
    maps = {
        f"Head {choice.head + 1} of every layer": (rows[:, choice.head], None),
        "Mean weight of a layer's heads": (rows.mean(axis=1), None),
        "Largest weight of a layer's heads": (rows.max(axis=1), ("of head", largest)),
    }
    layers = [f"layer {layer}" for layer in range(1, view.layers + 1)]
    columns = column_labels(view.axes)
    for number, (place, (title, (values, marks))) in enumerate(
        zip(st.columns(len(maps), gap="medium"), maps.items(), strict=True)
    ):
        with (
            place,
            main_figure(
                f"**Where “{markdown(labels[row])}”{place_of(labels, row)} looks, layer by layer:** "
                f"{markdown(reading.trace.text)}",
                f"{TITLES[kind]}, {title.lower()}",
                when=number == 0,
            ),
        ):
            st.markdown(f"**{title}**")
            key = f"compare_layers_{title.split()[0]}"
            description = f"{title}: one row per layer, one column per attended word; the table lists the values."
            chart = matrix(
                values,
                layers,
                columns,
                name="weight",
                scale=sequential(),
                mask=mask,
                marks=marks,
                clickable=marks is not None,
            )
            if marks is None:
                show_altair(chart, key=key, alt=description)
            else:
                show_heads_chart(
                    chart,
                    kind,
                    key,
                    description,
                    maps=reading.maps,
                    head_at=lambda mark: (
                        int(mark["row"]) - 1,
                        int(rows[int(mark["row"]) - 1, :, int(mark["column"]) - 1].argmax()),
                    ),
                )
    prose("compare_layers_heads", describe_where(kind, rows, mask[0], labels, row, columns), reading.maps)
    st.caption(
        "In the first two maps, each row sums to 1. In the third map, each cell shows the largest weight of the "
        "layer's heads, and the number of the head that has it. Click a cell of the third map to open that head."
    )
    show_numbers(_table(maps, largest, mask, columns), "compare_layers_numbers", digits=4)


def clearest_row(view: View, layer: int, head: int) -> int:
    """Return the row of a head's largest weight, ignoring start and end symbols and, in self-attention, the diagonal;
    0 if no weight is left.
    """
    head_pattern = pattern(
        view.weights[layer, head], view.mask, view.axes.rows, view.axes.columns, same_text=view.axes.kind != "cross"
    )
    return head_pattern.strongest.row if head_pattern.strongest else 0


def describe_where(
    kind: Kind, rows: np.ndarray, row_weights: np.ndarray, labels: list[str], row: int, columns: list[str]
) -> list[str | HeadLink]:
    """Return a sentence that names each layer's largest weight in a row, with its head and column.

    Args:
        kind: the attention kind.
        rows: the weights of the row in every layer and head: [L, H, C].
        row_weights: bool [C], False for masked columns.
        labels: the labels of all rows.
        row: the index of the row in `labels`.
        columns: the labels of the columns.
    """
    parts: list[str | HeadLink] = [
        f"Where the attention of “{isolate(labels[row])}”{place_of(labels, row)} is strongest in each layer: "
    ]
    for layer, weights in enumerate(np.where(row_weights, rows, -1.0)):
        head, column = np.unravel_index(weights.argmax(), weights.shape)
        end = "." if layer + 1 == len(rows) else "; "
        parts += [
            HeadLink(kind, layer, int(head)),
            f" at “{isolate(columns[column])}”{place_of(columns, int(column))}, {weights[head, column]:.2f}{end}",
        ]
    return parts


def _table(
    maps: dict[str, tuple[np.ndarray, object]], largest: np.ndarray, mask: np.ndarray, columns: list[str]
) -> pd.DataFrame:
    """Return a table of the values of all maps, with one row per unmasked cell."""
    layers, places = np.nonzero(mask)
    return pd.DataFrame(
        {
            "layer": layers + 1,
            "to": np.array(numbered_labels(columns), dtype=object)[places],
            **{title: values[mask].astype(float) for title, (values, _) in maps.items()},
            "head with the largest weight": largest[mask],
        }
    )
