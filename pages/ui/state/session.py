"""Session state: the user's texts and choices, shared by all pages and mirrored in the URL.

The session and the URL are compared once, at the start of each script run. Streamlit's own binding of widgets to the
URL is unsuitable: it loses a link's values when the page changes, and scripts cannot set values.

Except for `DEVICE`, no session-state key in this module belongs to a widget, because Streamlit forgets the value of a
hidden widget. Instead, a widget shows a value of the session, and the widget's callback changes that value
(`pages.ui.state.bind`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from pages.ui.params.attention import AttentionParams, PinParams
from pages.ui.params.fields import Params
from pages.ui.params.sentence_list import ListParams
from pages.ui.params.state import EXAMPLES as EXAMPLES
from pages.ui.params.state import State
from pages.ui.state.transitions import opened_state, pinned_in_kind, without_the_previous
from pages.ui.text.sentence_list import SentenceList, sentences_in
from transformer.text.normalisation import replace_surrogates
from transformer.values.trace import Kind

# Key of the widget for choosing the device.
DEVICE = "device"
# Session-state keys.
STATE = "_state"
MIRRORED = "_mirrored"
ADDRESS = "_address"
BOX_REQUEST = "_box_request"
ORIGIN = "_origin"
# Session-state key that is set when the user has just chosen a decoded translation (`read_instead`).
JUST_DECODED = "_just_decoded"
# Session-state key of the text that figure captions quote on pages that do not show the sentence.
QUOTED_TEXT = "_quoted"
# Session-state keys of the open page's name, and of the experiment to embed in saved figures.
PAGE, EXPERIMENT = "_page", "_carried"
# Session-state key of the head that the page shows, whether or not the user has chosen it.
SHOWN_HEAD = "_shown_head"
# Session-state key of the user's list of sentences.
SENTENCE_LIST = "_my_sentences"
DRAWN = "_drawn"
PREVIOUSLY_DRAWN = "_previously_drawn"

P = TypeVar("P", bound=Params)
A = TypeVar("A", bound=AttentionParams)


def is_new() -> bool:
    """Return whether the session has not shown a page yet."""
    return ADDRESS not in st.session_state


def follow_address(page: str, *, write: bool = True) -> None:
    """Synchronise the session and the URL; call this before any widget of `page` is shown.

    A URL that differs from the last one written comes from a link, a reload or the back button, and sets the state. If
    such a URL has no text, the session keeps its text and model. A URL without parameters comes from the menu, and
    changes nothing.

    The URL is also ignored if a widget's callback has stored a value, even an unchanged one, before this script run. In
    that case, the browser may have sent its URL before it received the last URL that was written.

    Args:
        write: whether to write the state to the URL; False if the script run is about to open another page.
    """
    before = st.session_state.get(MIRRORED, State())
    state = st.session_state.get(STATE, before)
    opened = st.query_params.to_dict()
    just_decoded = st.session_state.pop(JUST_DECODED, False)
    if state is before and opened and opened != st.session_state.get(ADDRESS):
        state = opened_state(opened, state)
    else:
        state = without_the_previous(state, before, just_decoded=just_decoded)
    st.session_state[STATE] = state = pinned_in_kind(_without_list(state), page)
    st.session_state[PREVIOUSLY_DRAWN] = st.session_state.pop(DRAWN, None)
    st.session_state[PAGE] = page
    for key in (QUOTED_TEXT, EXPERIMENT, SHOWN_HEAD):
        st.session_state.pop(key, None)
    if write:
        _write_address(state, opened)


def _without_list(state: State) -> State:
    """Move a slide's sentence list from the state to the session, because the list would make every URL too long."""
    sentences = sentences_in(state.of(ListParams).sentences)
    if sentences.sentences:
        st.session_state[SENTENCE_LIST] = sentences
    return state.with_params(ListParams())


def address_on(page: str, address: Mapping[str, str]) -> dict[str, str]:
    """Return the URL parameters that a page sets once it has been opened with `address`.

    A link with these parameters adds one entry to the browser's history. Any other link adds two, because the page
    rewrites its URL.
    """
    return pinned_in_kind(opened_state(address, _state()), page).to_address()


def open_address(address: Mapping[str, str], *changed: Params) -> None:
    """Set the state from URL parameters, as if the user had opened that URL.

    Call this in callbacks or before a page change.

    Args:
        changed: parameters that replace those in the URL.
    """
    st.session_state[STATE] = st.session_state[MIRRORED] = State.from_address(address).with_params(*changed)


def address() -> dict[str, str]:
    """Return the URL parameters of the current state."""
    return _state().to_address()


def page_address(*changed: Params) -> dict[str, str]:
    """Return the URL parameters for sharing the page outside a lecture; empty if they are too long.

    Args:
        changed: parameters that replace those of the current state.
    """
    return _state().with_params(*changed).page_address()


def rewrite_address() -> None:
    """Write the state to the URL again. Pages call this to correct a choice after the model has read the sentence."""
    state = st.session_state[STATE] = without_the_previous(_state(), st.session_state[MIRRORED], just_decoded=False)
    _write_address(state, st.session_state[ADDRESS])


def _write_address(state: State, opened: Mapping[str, str]) -> None:
    st.session_state[MIRRORED] = state
    address = state.to_address()
    if address != opened:
        st.query_params.from_dict(address)
    st.session_state[ADDRESS] = address


def _state() -> State:
    return st.session_state[STATE]


def _update(**changes: object) -> None:
    st.session_state[STATE] = replace(_state(), **changes)


def text() -> str:
    """Return the current sentence."""
    return _state().text


def target() -> str:
    """Return the translation that the decoder reads instead of its own; an empty string if it reads its own."""
    return _state().target


def set_quoted_text(words: str) -> None:
    """Set the text that figure captions quote instead of the sentence, for this script run."""
    st.session_state[QUOTED_TEXT] = words


def quoted_text() -> str:
    """Return the text that figure captions quote."""
    return st.session_state.get(QUOTED_TEXT, f"Sentence: {text()}")


def page() -> str:
    """Return the name of the open page."""
    return st.session_state[PAGE]


def set_experiment(experiment: str) -> None:
    """Embed an experiment in the figures that this script run shows from now on."""
    st.session_state[EXPERIMENT] = experiment


def embedded_experiment() -> str:
    """Return the experiment to embed in figures, or an empty string if there is none."""
    return st.session_state.get(EXPERIMENT, "")


def read_text(typed: str) -> None:
    """Callback of the sentence's text box: set the sentence."""
    _update(text=replace_surrogates(typed))


def read_target(typed: str) -> None:
    """Callback of the translation's text box: set the user's own translation."""
    _update(target=replace_surrogates(typed))


def address_of(text: str, kind: Kind, choice: AttentionParams) -> dict[str, str]:
    """Return URL parameters that show a head's map of another sentence, and keep the settings that fit any sentence.

    Args:
        text: the sentence. The model translates it; a translation typed by the user is dropped.
        kind: the attention kind.
        choice: the selected head with its pins.
    """
    state = replace(_state(), text=text, target="").each(lambda value: value.for_another_sentence())
    pins = PinParams().pinned(kind, choice.rows, choice.columns)
    return state.with_params(choice.unpinned(), pins).to_address()


def try_sentence(sentence: str) -> None:
    """Callback: switch to a suggested sentence, and show it in the text box."""
    read_text(sentence)
    refill_boxes()


def read_instead(target: str, origin: str = "") -> None:
    """Callback: use a decoded translation on all pages. The settings of "Decoding step by step" do not change.

    Args:
        target: the translation; empty for the model's own.
        origin: a description of how the translation was decoded.
    """
    read_target(target)
    refill_boxes()
    st.session_state[ORIGIN] = (target, origin)
    st.session_state[JUST_DECODED] = True


def origin(target: str) -> str:
    """Return how `target` was decoded, or an empty string if the last call of `read_instead` had another target."""
    decoded, words = st.session_state.get(ORIGIN, ("", ""))
    return words if decoded == target else ""


def read_own_translation() -> None:
    """Callback: return to the model's own translation."""
    read_target("")
    refill_boxes()


def box_request() -> int:
    """Return a counter; when it increases, text boxes must replace what the user is typing with the current texts."""
    return st.session_state.get(BOX_REQUEST, 0)


def refill_boxes() -> None:
    """Make the text boxes show the session's texts, even if the user is typing."""
    st.session_state[BOX_REQUEST] = box_request() + 1


def sentence_list() -> SentenceList:
    """Return the user's list of sentences; empty if there is none."""
    return st.session_state.get(SENTENCE_LIST, SentenceList())


def params(cls: type[P]) -> P:
    """Return the current URL parameters of a class."""
    return _state().of(cls)


def store(value: Params) -> None:
    """Replace the URL parameters of one class; call this only in callbacks or before a page change."""
    st.session_state[STATE] = _state().with_params(value)


def update(cls: type[Params], **changes: object) -> None:
    """Replace some URL parameters of one class; call this only in callbacks or before a page change."""
    store(replace(params(cls), **changes))


def attention(kind: Kind | None = None, of: type[A] = AttentionParams) -> A:
    """Return the selected head and its display settings, with the pins of an attention kind if one is given.

    Args:
        of: the parameter class. Subclasses of `AttentionParams` already include the pins.
    """
    choice = params(of)
    if kind is None or of is not AttentionParams:
        return choice
    rows, columns = params(PinParams).of(kind)
    return replace(choice, rows=rows, columns=columns)


def store_attention(choice: AttentionParams, kind: Kind | None = None) -> None:
    """Replace the selected head and, if an attention kind is given, the kind's pins.

    Call this only in callbacks or before a page change.
    """
    if type(choice) is not AttentionParams:
        store(choice)
        return
    store(choice.unpinned())
    if kind is not None:
        store(params(PinParams).pinned(kind, choice.rows, choice.columns))


def update_attention(kind: Kind | None = None, of: type[AttentionParams] = AttentionParams, **changes: object) -> None:
    """Replace some of the values that `attention` returns; call this only in callbacks or before a page change."""
    store_attention(replace(attention(kind, of), **changes), kind)


def note_head(choice: AttentionParams) -> None:
    """Record the head that this script run shows."""
    st.session_state[SHOWN_HEAD] = choice.layer, choice.head, type(choice)


def shown_head() -> tuple[AttentionParams, ...]:
    """Return the parameters of the head that the page shows; empty if the page shows no head."""
    layer, head, of = st.session_state.get(SHOWN_HEAD, (0, 0, None))
    return () if of is None else (replace(params(of), layer=layer, head=head),)


def was_drawn(key: str) -> bool:
    """Return whether the previous script run showed the element `key`, and record that this script run shows it."""
    st.session_state[DRAWN] = key
    return st.session_state.get(PREVIOUSLY_DRAWN) == key
