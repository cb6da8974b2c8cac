"""The drawing of the Transformer, whose boxes are links: small on every page, large on the first one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import streamlit as st

from attention_atlas.browser.piece_labels import visible
from pages.ui.components.save_as import figure_component, saveable
from transformer.config import NormPlacement
from transformer.text.languages import Languages
from transformer.values.trace import Kind

draw_diagram = figure_component("diagram/diagram")
# The page of the box that was clicked, until the run that the click caused comes to the drawing.
CLICKED = "_clicked_box"


@dataclass(frozen=True)
class AttentionBox:
    """A box of attention in the large drawing.

    Attributes:
        title, subtitle: what it is, and what looks at what there.
        head: which head the map is of.
        map: a picture with a pixel for each weight, as a data URI.
        rows, columns: of the map.
    """

    title: str
    subtitle: str
    head: str
    map: str
    rows: int
    columns: int


def where_you_are(page: str) -> str | None:
    """Draw it small, with the open page's box marked; returns the page whose box was clicked.

    Args:
        page: the name of the open page's file.
    """
    return _draw("here", {"here": page})


def drawing(
    source: str, target: str, languages: Languages, kinds: Mapping[Kind, AttentionBox], layers: Mapping[str, int], *,
    norm: NormPlacement,
) -> str | None:
    """Draw it large; returns the page whose box was clicked.

    Args:
        source, target: a sentence and its translation.
        languages: that they are in.
        kinds: what is shown of each kind of attention.
        layers: number of layers by stack.
        norm: where the layer norms of the model are.
    """
    with saveable("drawing", "The Transformer, with three maps of its attention"):
        return _draw("drawing", {
            "here": "translate", "source": visible(source), "target": visible(target), "layers": dict(layers),
            "norm": norm,
            "languages": {"source": languages.source.name, "target": languages.target.name},
            "kinds": {kind: asdict(box) for kind, box in kinds.items()},
        })


def which_part(part: str, stages: Mapping[str, str], open_stage: Callable[[str], None]) -> None:
    """Draw the parts of the model, with one of them marked.

    Args:
        part: the one that is shown: a key of `stages`.
        stages: the first stage of each part.
        open_stage: called with the stage of the part that was clicked, before the page runs again.
    """

    def clicked() -> None:
        stage = st.session_state["which_part"].get("open")
        if stage in stages.values():
            open_stage(stage)

    draw_diagram(
        key="which_part", data={"here": part, "stages": dict(stages)}, on_open_change=clicked, width="stretch"
    )


def _draw(key: str, data: dict[str, object]) -> str | None:
    def clicked() -> None:
        st.session_state[CLICKED] = st.session_state[key].get("open")

    draw_diagram(key=key, data=data, on_open_change=clicked, width="stretch")
    opened = st.session_state.pop(CLICKED, None)
    return opened if isinstance(opened, str) else None
