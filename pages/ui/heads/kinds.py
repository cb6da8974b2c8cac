"""The pages that show the maps of heads, and functions that open a head there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.matrix import PICK
from pages.ui.components.save_as import AnyChart, show_altair
from pages.ui.params.attention import AttentionParams, PinParams
from pages.ui.params.fields import Params
from pages.ui.params.pages import KINDS_OF_PAGES
from pages.ui.params.pages import PAGES as ALL_PAGES
from pages.ui.state import session
from transformer.text.languages import Languages
from transformer.values.trace import Kind


@dataclass(frozen=True)
class KindPage:
    """The page of one kind of attention: its file, its title, and a description of which words look at which."""

    path: str
    title: str
    looks: str

    @property
    def address(self) -> str:
        """The page's path in an address."""
        return PurePosixPath(self.path).stem

    def subtitle(self, languages: Languages) -> str:
        """Return the sentence that says which words look at which words, in the model's languages."""
        return self.looks.format(source=languages.source.name, target=languages.target.name)


PAGES: dict[Kind, KindPage] = {
    kind: KindPage(ALL_PAGES[name].script, ALL_PAGES[name].title, looks)
    for (name, kind), looks in zip(
        KINDS_OF_PAGES.items(),
        ("{source} looks at {source}", "{target} looks back at {target}", "{target} looks at {source}"),
        strict=True,
    )
}


@dataclass(frozen=True)
class HeadMaps:
    """The pages that show the heads of a model.

    Attributes:
        pages: the page of each kind of attention that the model has.
        params: the class of parameters that chooses the head there.
        also: returns further parameters that these pages need to show a map of a kind.
    """

    pages: Mapping[Kind, KindPage]
    params: type[AttentionParams] = AttentionParams
    also: Callable[[Kind], tuple[Params, ...]] = lambda kind: ()

    def at(self, layer: int, head: int) -> AttentionParams:
        """Return parameters that choose a head; layer and head count from 0."""
        return replace(session.attention(of=self.params), layer=layer, head=head)

    def prepare(self, kind: Kind) -> None:
        """Make the page show a map of a kind; for callbacks, and before a page change."""
        for value in self.also(kind):
            session.store(value)


# The pages of a translator.
MAPS = HeadMaps(PAGES)


# Session key of the head that was clicked in a chart, kept until the run caused by the click reaches the chart.
CLICKED = "_clicked_head"


def open_head(kind: Kind, layer: int, head: int, maps: HeadMaps = MAPS) -> None:
    """Go to the page of a kind with a head chosen; layer and head count from 0."""
    session.store_attention(maps.at(layer, head))
    maps.prepare(kind)
    st.switch_page(maps.pages[kind].path)


def head_title(kind: Kind, layer: int, head: int) -> str:
    """Return the name of a head for use in a sentence; layer and head count from 0."""
    return f"{TITLES[kind].lower()}, layer {layer + 1}, head {head + 1}"


def linked_head(kind: Kind, layer: int, head: int, maps: HeadMaps = MAPS, row: int | None = None) -> str:
    """Return `head_title` as a Markdown link that opens the head in a new tab, so that this page keeps its results.

    Args:
        kind, layer, head: the head; layer and head count from 0.
        maps: pages that show it.
        row: the only one that is pinned there, from 0; None leaves the pins as they are.
    """
    chosen, pins = maps.at(layer, head), session.params(PinParams)
    if row is not None and maps.params is AttentionParams:
        pins = pins.pinned(kind, (row,), ())
    elif row is not None:
        chosen = replace(chosen, rows=(row,), columns=())
    address = session.page_address(chosen, pins, *maps.also(kind))
    if not address:
        return head_title(kind, layer, head)
    return f"[{head_title(kind, layer, head)}]({maps.pages[kind].address}?{urlencode(address, errors='replace')})"


def open_button(kind: Kind, layer: int, head: int, *, name: str = "open", maps: HeadMaps = MAPS) -> None:
    """Draw a button that opens a head, counted from 0; `name` makes its key unique on the page."""
    if st.button(
        f"Open layer {layer + 1}, head {head + 1} of {maps.pages[kind].title.lower()}",
        key=f"{name}_{kind}",
        icon=":material/open_in_full:",
    ):
        open_head(kind, layer, head, maps)


def chart_of_heads(
    chart: AnyChart,
    kind: Kind | None,
    key: str,
    description: str,
    *,
    fields: tuple[str, str] = ("layer", "head"),
    head_at: Callable[[Mapping[str, Any]], tuple[int, int]] | None = None,
    maps: HeadMaps = MAPS,
) -> None:
    """Draw a chart whose marks are heads; a click on a mark opens its head.

    Args:
        chart: a chart with a selection `PICK` of both fields.
        kind: the kind of the heads; None if each head has its own in a field `kind`, which other marks lack.
        key: the key of the chart.
        description: a description of the chart for users who cannot see it.
        fields: the fields with the layer and head of a mark, counted from 1.
        head_at: returns the layer and head of a mark, from 0, if its fields do not state them.
        maps: the pages that open the heads.
    """

    def clicked() -> None:
        points = st.session_state[key].selection[PICK]
        clicked_kind = kind or (points and points[0].get("kind"))
        if points and clicked_kind in maps.pages:
            layer, head = head_at(points[0]) if head_at else (int(points[0][field]) - 1 for field in fields)
            st.session_state[CLICKED] = key, clicked_kind, layer, head

    show_altair(chart, key=key, on_select=clicked, selection_mode=PICK, alt=description)
    if st.session_state.get(CLICKED, ("",))[0] == key:
        _, clicked_kind, layer, head = st.session_state.pop(CLICKED)
        open_head(clicked_kind, layer, head, maps)
