"""The clickable diagram of the Transformer, with the words of a sentence and the attention links between them."""

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
    """The link that the user clicked in a component. The session state stores the link until it is read.

    Attributes:
        key: the key of the component.
    """

    key: str

    def note(self) -> None:
        """Callback for the component's trigger "open": store the clicked link."""
        st.session_state[f"_opened_by_{self.key}"] = st.session_state[self.key].get("open")

    def page(self) -> tuple[str | None, dict[str, str] | None]:
        """Return the page and the URL parameters of the clicked link, and forget the click.

        If the link has no parameters, return None for them. If the user clicked no link, return None for both.
        """
        match st.session_state.pop(f"_opened_by_{self.key}", None):
            case str(page):
                return page, None
            case [str(page), {**address}]:
                # Convert names and values to text, because a message from the browser is untrusted.
                return page, {str(name): str(value) for name, value in address.items()}
        return None, None


@dataclass(frozen=True)
class StoryWords:
    """The words of a sentence, with data for describing each word's attention.

    Attributes:
        language: the language of the sentence.
        words: the labels of the words.
        spoken: whether each word contains a letter or a digit.
        rows, columns: the row and column positions of each word in the trace.
        alone: whether each word has its own row in the decoder's map of words; False for source words.
        looks: for each word, the indices in `Story.links` of the links that start at the word, most prominent first.
        looked: for each word, the indices of the links that end at the word, most prominent first.
        across: for each word, the index of the other language's word that shares the most cross-attention with it; -1
            for none.
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
    """Attention links between the words of a sentence and of its translation.

    Attributes:
        source, target: the words of the sentence and of the translation.
        links: attention kind, row, column, layer, head and weight of each link; all indices are 0-based.
        opens: the index of the source word that is described first; -1 for none.
        first: how many links from a word are shown until the user asks for the others.
    """

    source: StoryWords
    target: StoryWords
    links: list[tuple[Kind, int, int, int, int, float]]
    opens: int
    first: int


@dataclass(frozen=True)
class AttentionBox:
    """An attention box in the large diagram.

    Attributes:
        title: the name of the box.
        subtitle: a description of which words attend to which.
        head: the name of the head whose map is shown.
        map: the map as a data URI: an image with one pixel per weight.
        rows, columns: the numbers of rows and columns in the map.
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
    """Show the large diagram, and return the `OpenedPage` with the link that the user clicked.

    Args:
        source, target: the sentence and the translation.
        languages: the source and target languages.
        kinds: the box for each attention kind.
        layers: the number of layers in each stack.
        norm: whether the model is pre-norm or post-norm.
        story: the attention links between words.
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
    """Show a small diagram of the model's parts, in which the current part is marked.

    Args:
        part: the current part, a key of `stages`.
        stages: the first stage of each part.
        open_stage: called with the first stage of the part that the user clicked, before the page's script runs again.
    """

    def clicked() -> None:
        stage = st.session_state["which_part"].get("open")
        if stage in stages.values():
            open_stage(stage)

    draw_diagram(key="which_part", data={"here": part, "stages": dict(stages)}, on_open_change=clicked, width="stretch")
