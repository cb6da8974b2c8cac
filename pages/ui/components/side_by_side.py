"""Shows maps side by side. When the user hovers over a cell, the same cell is highlighted in all maps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attention_atlas.browser.labels import TITLES, column_labels, row_labels, titles
from pages.ui.components.save_as import figure_component, saveable
from pages.ui.params.attention import FIXED
from pages.ui.text.number_format import rounded
from transformer.analysis.view import View

DIFFERENCE, ALLOWED = "difference", "allowed"

draw_maps = figure_component("attention_browser/side_by_side")


@dataclass(frozen=True, eq=False)
class Map:
    """One of several maps that are shown side by side.

    Attributes:
        title: the title above the map.
        rows, columns: the labels of the rows and columns.
        values: the values, [R, C], which are shown with four decimal places.
        mask: bool [R, C]; False for masked cells.
        words: whether rows and columns are words, not tokens.
        scale: the colour scale. FIXED runs from 0 to 1. DIFFERENCE is centred on 0. ALLOWED has one colour for 1 and
            another for masked cells.
        measure: the name of the quantity, which labels the colour bar.
        axes: the axis titles of the rows and the columns; None for the usual titles of an attention map.
    """

    title: str
    rows: list[str]
    columns: list[str]
    values: np.ndarray
    mask: np.ndarray
    words: bool = False
    scale: str = FIXED
    measure: str = "weight"
    axes: tuple[str, str] | None = None


def head_map(of: str, view: View, layer: int, head: int) -> Map:
    """Return the attention map of one head; `of` names the model or text and starts the map's title."""
    axes = view.axes
    title = f"{of}: {TITLES[axes.kind]}, layer {layer + 1}, head {head + 1}"
    weights = rounded(view.weights[layer, head])
    return Map(title, row_labels(axes), column_labels(axes), weights, view.mask, words=axes.words)


def side_by_side(maps: Sequence[Map], key: str, *, sentence: str | None = None) -> None:
    """Show several maps as one figure.

    Args:
        maps: the maps, in the order shown.
        key: the component's Streamlit key.
        sentence: the sentence to quote in a saved file; None for the sentence that the page shows.
    """
    with saveable(key, " · ".join(one.title for one in maps), sentence=sentence):
        draw_maps(key=key, width="stretch", data={"sides": [_message(one) for one in maps]})


def _message(side: Map) -> dict[str, object]:
    return {
        "title": side.title,
        "rows": side.rows,
        "columns": side.columns,
        "scale": side.scale,
        "measure": side.measure,
        "axes": dict(zip(("from", "to"), side.axes or titles(side.words), strict=True)),
        "values": rounded(side.values).ravel().tolist(),
        "masked": (~side.mask).ravel().astype(int).tolist(),
    }
