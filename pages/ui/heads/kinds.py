"""Links and buttons that open a head's attention map, and a table of the pages that show these maps."""

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
    """The page for one attention kind.

    Attributes:
        path: the page script.
        title: the title of the page.
        looks: a description of which words attend to which, with {source} and {target} in place of language names.
    """

    path: str
    title: str
    looks: str

    @property
    def address(self) -> str:
        return PurePosixPath(self.path).stem

    def subtitle(self, languages: Languages) -> str:
        """Return the description of which words attend to which, with the names of the languages filled in."""
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
    """The pages that show a model's attention maps.

    Attributes:
        pages: the page for each of the model's attention kinds.
        params: the class of the parameters that store the chosen head.
        also: returns any other parameters that a page needs to show an attention kind.
    """

    pages: Mapping[Kind, KindPage]
    params: type[AttentionParams] = AttentionParams
    also: Callable[[Kind], tuple[Params, ...]] = lambda kind: ()

    def at(self, layer: int, head: int) -> AttentionParams:
        """Return the parameters that choose a head; `layer` and `head` are 0-based."""
        return replace(session.attention(of=self.params), layer=layer, head=head)

    def prepare(self, kind: Kind) -> None:
        """Store the parameters that `also` returns. Call this in a callback or before switching to another page."""
        for value in self.also(kind):
            session.store(value)


# The attention pages of a translator.
MAPS = HeadMaps(PAGES)


# Session-state key for a head that the user clicked in a chart, kept until the next script run reaches the chart.
CLICKED = "_clicked_head"


def open_head(kind: Kind, layer: int, head: int, maps: HeadMaps = MAPS) -> None:
    """Open a head on the page for its attention kind; `layer` and `head` are 0-based."""
    session.store_attention(maps.at(layer, head))
    maps.prepare(kind)
    st.switch_page(maps.pages[kind].path)


def head_title(kind: Kind, layer: int, head: int) -> str:
    """Return a head's name for use within a sentence; `layer` and `head` are 0-based."""
    return f"{TITLES[kind].lower()}, layer {layer + 1}, head {head + 1}"


def head_markdown_link(kind: Kind, layer: int, head: int, maps: HeadMaps = MAPS, row: int | None = None) -> str:
    """Return a head's name as a Markdown link.

    The link opens a new browser tab, so that the current page keeps what it has computed.

    Args:
        kind: the attention kind.
        layer, head: the head, 0-based.
        maps: the pages that show the model's attention maps.
        row: the 0-based row to pin instead of the user's pins; None keeps the user's pins.
    """
    params, pins = maps.at(layer, head), session.params(PinParams)
    if row is not None and maps.params is AttentionParams:
        pins = pins.pinned(kind, (row,), ())
    elif row is not None:
        params = replace(params, rows=(row,), columns=())
    address = session.page_address(params, pins, *maps.also(kind))
    if not address:
        return head_title(kind, layer, head)
    return f"[{head_title(kind, layer, head)}]({maps.pages[kind].address}?{urlencode(address, errors='replace')})"


def open_button(kind: Kind, layer: int, head: int, *, name: str = "open", maps: HeadMaps = MAPS) -> None:
    """Show a button that opens a head.

    Args:
        kind: the attention kind.
        layer, head: the head, 0-based.
        name: the prefix of the button's key, which must be unique on the page.
        maps: the pages that show the model's attention maps.
    """
    if st.button(
        f"Open layer {layer + 1}, head {head + 1} of {maps.pages[kind].title.lower()}",
        key=f"{name}_{kind}",
        icon=":material/open_in_full:",
    ):
        open_head(kind, layer, head, maps)


def show_heads_chart(
    chart: AnyChart,
    kind: Kind | None,
    key: str,
    description: str,
    *,
    fields: tuple[str, str] = ("layer", "head"),
    head_at: Callable[[Mapping[str, Any]], tuple[int, int]] | None = None,
    maps: HeadMaps = MAPS,
) -> None:
    """Show a chart in which each mark stands for a head; clicking a mark opens the head.

    Args:
        chart: a chart with a selection named `PICK` that returns both `fields`.
        kind: the attention kind of all heads; None to read the kind from each mark's field `kind`. A mark without this
            field then opens nothing.
        key: the key of the chart.
        description: a text alternative for users who cannot see the chart.
        fields: the names of the fields with a mark's 1-based layer and head.
        head_at: returns the 0-based layer and head of a mark; None to read them from `fields`.
        maps: the pages that show the model's attention maps.
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
