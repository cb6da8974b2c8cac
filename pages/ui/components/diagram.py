"""The drawing of the Transformer, whose boxes are links, with the words of a sentence and their attention links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from attention_atlas.browser.token_labels import visible
from pages.ui.components.save_as import figure_component, saveable
from pages.ui.components.synced_state import synced_params
from pages.ui.params.translate import WordParams
from pages.ui.state import session
from transformer.config import NormPlacement
from transformer.text.languages import Languages
from transformer.values.trace import Kind

# Key of the large drawing.
KEY = "drawing"
draw_diagram = figure_component("diagram/diagram")


@dataclass(frozen=True)
class OpenedPage:
    """Stores which page link was clicked in a component until the run caused by the click reaches the component.

    Attributes:
        key: the key of the component.
    """

    key: str

    def note(self) -> None:
        """Callback of the component's trigger "open"."""
        st.session_state[f"_opened_by_{self.key}"] = st.session_state[self.key].get("open")

    def page(self) -> tuple[str | None, dict[str, str] | None]:
        """Return the page whose link was clicked, and the link's address parameters if it has any; then forget both.

        Both are None if no link was clicked.
        """
        match st.session_state.pop(f"_opened_by_{self.key}", None):
            case str(page):
                return page, None
            case [str(page), {**address}]:
                # The values come from the browser, so they are as untrusted as an address.
                return page, {str(name): str(value) for name, value in address.items()}
        return None, None


@dataclass(frozen=True)
class StoryWords:
    """The words of a sentence, as data for the control that describes their attention.

    Attributes:
        language: the language of the sentence.
        words: the labels of the words.
        spoken: whether each word contains a letter or a digit.
        rows, columns: the positions of each word in the arrays of a trace.
        alone: whether a map of words has one row for each word, which the word shares with no other step.
        looks, looked: the indices in `Story.links` of the links from each word, and of those to each word.
        more: the numbers of further links from each word, by kind.
        across: the word of the other sentence with the most cross-attention to each word; -1 for none.
    """

    language: str
    words: list[str]
    spoken: tuple[bool, ...]
    rows: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[int, ...], ...]
    alone: list[bool]
    looks: list[list[int]]
    looked: list[list[int]]
    more: list[dict[Kind, int]]
    across: list[int]


@dataclass(frozen=True)
class Story:
    """Attention links between the words of a sentence and its translation.

    Attributes:
        source, target: the words of the sentence and of the translation.
        links: kind, row, column, layer, head and weight of each link; numbers count from 0.
        opens: the index of the source word that is described first; -1 for none.
    """

    source: StoryWords
    target: StoryWords
    links: list[tuple[Kind, int, int, int, int, float]]
    opens: int


@dataclass(frozen=True)
class AttentionBox:
    """An attention box in the large drawing.

    Attributes:
        title, subtitle: the name of the box, and a description of which words look at which.
        head: the name of the head whose map is shown.
        map: a picture with one pixel per weight, as a data URI.
        rows, columns: the numbers of rows and columns of the map.
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
    """Draw the large diagram; return the record of which box or link was clicked.

    Args:
        source, target: the sentence and its translation.
        languages: the languages of both.
        kinds: the box of each kind of attention.
        layers: the number of layers in each stack.
        norm: whether the model is pre-norm or post-norm.
        story: the attention links of each word.
    """

    word = session.params(WordParams).within(len(story.source.words), len(story.target.words))
    asked, chosen = synced_params(KEY, word)
    opened = OpenedPage(KEY)
    with saveable(KEY, "The Transformer, with three maps of its attention"):
        draw_diagram(
            key=KEY,
            on_open_change=opened.note,
            on_params_change=chosen,
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
                "asked": asked,
            },
        )
    return opened


def which_part(part: str, stages: Mapping[str, str], open_stage: Callable[[str], None]) -> None:
    """Draw the diagram of the model's parts, with the current part marked.

    Args:
        part: the current part, a key of `stages`.
        stages: the first stage of each part.
        open_stage: called with the first stage of the part that was clicked, before the page runs again.
    """

    def clicked() -> None:
        stage = st.session_state["which_part"].get("open")
        if stage in stages.values():
            open_stage(stage)

    draw_diagram(key="which_part", data={"here": part, "stages": dict(stages)}, on_open_change=clicked, width="stretch")
