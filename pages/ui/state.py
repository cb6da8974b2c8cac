"""What a reader has chosen, kept over pages and sentences, and mirrored in the address.

The address and the widgets are brought together once, at the start of a run. Streamlit's own binding of widgets to the
address loses values that came from a link when the page changes, and cannot be filled in by the script.
What comes from an address is untrusted and checked here; what a widget holds is checked where it is used.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from pages.ui.figures import SCALES

TEXT = "text"
LAYER = "layer"
HEAD = "head"
WORDS = "words"
HIDE = "hide"
SCALE = "scale"
DEVICE = "device"

CHOICES = "_choices"
ADDRESS = "_address"
PAGE = "_page"

EXAMPLES: tuple[str, ...] = tuple(
    json.loads((Path(__file__).parents[2] / "assets" / "examples.json").read_text(encoding="utf-8"))
)
DEFAULTS: dict[str, str | int | bool] = {
    TEXT: EXAMPLES[0], LAYER: 1, HEAD: 1, WORDS: False, HIDE: False, SCALE: SCALES[0],
}
# A number as it may stand in an address; the model's own limits are checked where the number is used.
NUMBER = re.compile("[1-9][0-9]?")
# Characters of a text that an address can hold; a text that can be translated is never so long.
LONGEST = 4_000


@dataclass(frozen=True)
class Choice:
    """Which head, counted from 0 as arrays are; people and addresses count from 1."""

    layer: int
    head: int


@dataclass(frozen=True)
class Options:
    """How attention is shown.

    Attributes:
        words: pieces merged into words.
        special: start and end symbols shown.
        scale: one of SCALES.
    """

    words: bool
    special: bool
    scale: str


def follow_address(page: str) -> None:
    """Bring the widgets and the address together; runs before any widget of `page`.

    An address that is not the one written last was opened: by a link, a reload, or the back button. One without a text
    comes from the menu and changes nothing; nor does one that comes with a changed widget, which was used before the
    browser had got the address written last.
    """
    before = st.session_state.get(CHOICES, DEFAULTS)
    choices = {key: st.session_state.get(key, value) for key, value in before.items()}
    opened = st.query_params.to_dict()
    if choices == before and opened != st.session_state.get(ADDRESS) and TEXT in opened:
        choices = {key: _parsed(key, opened.get(key)) for key in DEFAULTS}
    # A widget forgets what it held when its page is left, unless the script assigns it. Assigning takes away what is
    # being typed, so it is done only where something changes.
    for key, value in choices.items():
        if page != st.session_state.get(PAGE) or key not in st.session_state or st.session_state[key] != value:
            st.session_state[key] = value
    st.session_state[PAGE] = page
    st.session_state[CHOICES] = choices
    written = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in choices.items() if key == TEXT or value != DEFAULTS[key]
    }
    if len(choices[TEXT]) > LONGEST:
        written.clear()
    if written != opened:
        st.query_params.from_dict(written)
    st.session_state[ADDRESS] = written


def _parsed(key: str, value: str | None) -> str | int | bool:
    """The choice that a parameter of the address stands for; the default if it stands for none."""
    default = DEFAULTS[key]
    if value is None:
        return default
    if isinstance(default, bool):
        return value == "true"
    if isinstance(default, int):
        return int(value) if NUMBER.fullmatch(value) else default
    if key == SCALE:
        return value if value in SCALES else default
    return value


def use_example() -> None:
    """Callback of the list of examples."""
    if st.session_state.example in EXAMPLES:
        st.session_state[TEXT] = st.session_state.example
    st.session_state.example = None


def choose(layer: int, head: int) -> None:
    """Choose a head, both counted from 1; for callbacks, which run before the widgets."""
    st.session_state[LAYER] = layer
    st.session_state[HEAD] = head


def choice(layers: int, heads: int) -> Choice:
    """Draw the two rows of buttons for layer and head, and say what is chosen."""
    for key, count in ((LAYER, layers), (HEAD, heads)):
        if st.session_state[key] not in range(1, count + 1):
            st.session_state[key] = 1
    layer = st.segmented_control(
        "Layer", range(1, layers + 1), key=LAYER, required=True, wrap=False,
        help="Layer 1 reads the embeddings; each further layer reads the one before it.",
    )
    head = st.segmented_control(
        "Head", range(1, heads + 1), key=HEAD, required=True, wrap=False,
        help="The heads of a layer look at the sentence side by side, each in its own way.",
    )
    return Choice(layer - 1, head - 1)


def options() -> Options:
    """Draw the settings, and say what they are."""
    with st.container(horizontal=True, gap="medium"):
        words = st.toggle("Words", key=WORDS, help="Merge the pieces of a word.")
        hide = st.toggle(
            "Hide start and end symbols", key=HIDE,
            help="Shows how the rest of each row is shared out; rows are scaled back to 1.",
        )
    scale = st.selectbox("Colours", SCALES, key=SCALE, help="The same for the large map and all small ones.")
    return Options(words, not hide, scale if scale in SCALES else SCALES[0])
