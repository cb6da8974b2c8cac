"""The clickable diagram of the Transformer, with a sentence's words and the attention links between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from attention_atlas.browser.token_labels import displayable
from pages.ui.components.save_as import figure_component, saveable
from pages.ui.components.synced_state import synced_params
from pages.ui.params.translate import WordParams
from pages.ui.state import session
from transformer.config import NormPlacement
from transformer.text.languages import Languages
from transformer.values.trace import Kind

# Component key of the large diagram.
KEY = "drawing"
draw_diagram = figure_component("diagram/diagram")


@dataclass(frozen=True)
class OpenedPage:
    """Remembers which page link the user clicked in a component, until the script run caused by the click reads it.

    Attributes:
        key: the key of the component.
    """

    key: str

    def note(self) -> None:
        """Callback for the component's trigger "open"."""
        st.session_state[f"_opened_by_{self.key}"] = st.session_state[self.key].get("open")

    def page(self) -> tuple[str | None, dict[str, str] | None]:
        """Return the clicked link's page, and the URL parameters if the link has any; then forget both.

        Both are None if no link was clicked.
        """
        match st.session_state.pop(f"_opened_by_{self.key}", None):
            case str(page):
                return page, None
            case [str(page), {**address}]:
                # The values come from the browser, so they are as untrusted as a URL.
                return page, {str(name): str(value) for name, value in address.items()}
        return None, None


@dataclass(frozen=True)
class StoryWords:
    """The words of a sentence, for the control that describes their attention.

    Attributes:
        language: the language of the sentence.
        words: the labels of the words.
        spoken: whether each word contains a letter or a digit.
        rows, columns: each word's row and column positions in the trace's arrays.
        alone: whether each word has a row of its own in a map of words.
        looks, looked: for each word, the indices in `Story.links` of the links from the word, and of those to the word.
        more: for each word, the number of further links from the word, by attention kind.
        across: for each word, the word of the other sentence with the most cross-attention; -1 if there is none.
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
        links: attention kind, row, column, layer, head and weight of each link; all indices are 0-based.
        opens: the index of the source word that is described first; -1 for none.
    """

    source: StoryWords
    target: StoryWords
    links: list[tuple[Kind, int, int, int, int, float]]
    opens: int


@dataclass(frozen=True)
class AttentionBox:
    """An attention box in the large diagram.

    Attributes:
        title, subtitle: the name of the box, and a description of which words look at which.
        head: the name of the head whose map is shown.
        map: the head's map as the data URI of an image with one pixel per weight.
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
    """Show the large diagram, and return the record of the link that the user clicked.

    Args:
        source, target: the sentence and its translation.
        languages: the source and target language.
        kinds: the box for each attention kind.
        layers: the number of layers in each stack.
        norm: whether the model is pre-norm or post-norm.
        story: the attention links of each word.
    """

    word = session.params(WordParams).within(len(story.source.words), len(story.target.words))
    request, store_word = synced_params(KEY, word)
    opened = OpenedPage(KEY)
    with saveable(KEY, "The Transformer, with three maps of its attention"):
        draw_diagram(
            key=KEY,
            on_open_change=opened.note,
            on_params_change=store_word,
            width="stretch",
            data={
                "here": "translate",
                "source": displayable(source),
                "target": displayable(target),
                "layers": dict(layers),
                "norm": norm,
                "languages": {"source": languages.source.name, "target": languages.target.name},
                "kinds": {kind: vars(box) for kind, box in kinds.items()},
                "story": {**vars(story), "source": vars(story.source), "target": vars(story.target)},
                "asked": request,
            },
        )
    return opened


def show_parts_diagram(part: str, stages: Mapping[str, str], open_stage: Callable[[str], None]) -> None:
    """Show the diagram of the model's parts, with the current part marked.

    Args:
        part: the current part, a key of `stages`.
        stages: the first stage of each part.
        open_stage: called with the first stage of a clicked part, before the page's script runs again.
    """

    def clicked() -> None:
        stage = st.session_state["which_part"].get("open")
        if stage in stages.values():
            open_stage(stage)

    draw_diagram(key="which_part", data={"here": part, "stages": dict(stages)}, on_open_change=clicked, width="stretch")
