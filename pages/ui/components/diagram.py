"""Drawing of the Transformer, whose boxes are links, and the words of a sentence that lead through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from attention_atlas.browser.piece_labels import visible
from pages.ui.components.save_as import figure_component, saveable
from transformer.config import NormPlacement
from transformer.text.languages import Languages
from transformer.values.trace import Kind

draw_diagram = figure_component("diagram/diagram")


@dataclass(frozen=True)
class OpenedPage:
    """The page whose link in a component was clicked, until the run that the click caused reaches the component.

    Attributes:
        key: of the component.
    """

    key: str

    def note(self) -> None:
        """Callback of the component's trigger "open"."""
        st.session_state[f"_opened_by_{self.key}"] = st.session_state[self.key].get("open")

    def page(self) -> tuple[str | None, dict[str, str] | None]:
        """The page, and its address if the link has one; None if no link was clicked."""
        match st.session_state.pop(f"_opened_by_{self.key}", None):
            case str(page):
                return page, None
            case [str(page), {**address}]:
                # The values are as untrusted as the address of an opened page.
                return page, {str(name): str(value) for name, value in address.items()}
        return None, None


@dataclass(frozen=True)
class ToldWords:
    """The words of a sentence as a control.

    Attributes:
        language: of the sentence.
        words: their labels.
        spoken: whether each holds a letter or a digit.
        rows, columns: positions of each in the arrays of a trace.
        alone: whether a map of words shows what each looks at as one row, which belongs to no other step.
        looks, looked: links from each word and links to each word, as numbers.
        across: the word of the other sentence that has most cross-attention with each; -1 for none.
    """

    language: str
    words: list[str]
    spoken: tuple[bool, ...]
    rows: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, ...], ...]
    alone: list[bool]
    looks: list[list[int]]
    looked: list[list[int]]
    across: list[int]


@dataclass(frozen=True)
class Story:
    """Links of attention between the words of a sentence and of its translation.

    Attributes:
        source, target: their words.
        links: kind, row, column, layer, head and weight of each; numbers count from 0.
        opens: the word of the source that is described first; -1 for none.
    """

    source: ToldWords
    target: ToldWords
    links: list[tuple[Kind, int, int, int, int, float]]
    opens: int


@dataclass(frozen=True)
class AttentionBox:
    """A box of attention in the large drawing.

    Attributes:
        title, subtitle: its name, and what looks at what in it.
        head: the name of the head in the map.
        map: a picture with a pixel for each weight, as a data URI.
        rows, columns: of the map.
    """

    title: str
    subtitle: str
    head: str
    map: str
    rows: int
    columns: int


def drawing(
    source: str,
    target: str,
    languages: Languages,
    kinds: Mapping[Kind, AttentionBox],
    layers: Mapping[str, int],
    *,
    norm: NormPlacement,
    story: Story,
) -> OpenedPage:
    """Draw the large diagram; return the page whose box or link was clicked.

    Args:
        source, target: a sentence and its translation.
        languages: of both.
        kinds: the box of each kind of attention.
        layers: number of layers by stack.
        norm: where the layer norms of the model are.
        story: what each word looks at.
    """

    opened = OpenedPage("drawing")
    with saveable("drawing", "The Transformer, with three maps of its attention"):
        draw_diagram(
            key="drawing",
            on_open_change=opened.note,
            width="stretch",
            data={
                "here": "translate",
                "source": visible(source),
                "target": visible(target),
                "layers": dict(layers),
                "norm": norm,
                "languages": {"source": languages.source.name, "target": languages.target.name},
                "kinds": {kind: vars(box) for kind, box in kinds.items()},
                "story": {**vars(story), "source": vars(story.source), "target": vars(story.target)},
            },
        )
    return opened


def which_part(part: str, stages: Mapping[str, str], open_stage: Callable[[str], None]) -> None:
    """Draw the parts of the model, with one of them marked.

    Args:
        part: the current one: a key of `stages`.
        stages: the first stage of each part.
        open_stage: called with the stage of the part that was clicked, before the page runs again.
    """

    def clicked() -> None:
        stage = st.session_state["which_part"].get("open")
        if stage in stages.values():
            open_stage(stage)

    draw_diagram(key="which_part", data={"here": part, "stages": dict(stages)}, on_open_change=clicked, width="stretch")
