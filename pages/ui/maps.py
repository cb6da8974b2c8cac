"""Maps side by side, drawn by one component of JavaScript; pointing at a cell points at it in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.ui.browser import STYLE, script
from pages.ui.choice import FIXED
from pages.ui.labels import titles

DIFFERENCE = "difference"

component = st.components.v2.component(
    "side_by_side", js=script("payload", "colours", "surface", "sums", "map", "controls", "side_by_side"), css=STYLE
)


@dataclass(frozen=True, eq=False)
class Map:
    """One of them.

    Attributes:
        title: stands above it.
        rows, columns: labels.
        values: [R, C], shown with four decimals.
        mask: bool [R, C]; False is drawn and told as masked.
        words: whether rows and columns are words, not pieces.
        scale: of the colours: FIXED, 0 to 1, or DIFFERENCE with 0 in the middle.
        measure: what the values are, for the colour bar.
    """

    title: str
    rows: list[str]
    columns: list[str]
    values: np.ndarray
    mask: np.ndarray
    words: bool = False
    scale: str = FIXED
    measure: str = "weight"


def side_by_side(maps: Sequence[Map], key: str) -> None:
    """Draw them.

    Args:
        key: of the component.
    """
    component(key=key, data={"sides": [_message(one) for one in maps]}, width="stretch")


def _message(one: Map) -> dict[str, object]:
    return {
        "title": one.title, "rows": one.rows, "columns": one.columns, "scale": one.scale,
        "measure": one.measure,
        "axes": dict(zip(("from", "to"), titles(one.words), strict=True)),
        "values": one.values.astype(float).round(4).ravel().tolist(),
        "masked": (~one.mask).ravel().astype(int).tolist(),
    }
