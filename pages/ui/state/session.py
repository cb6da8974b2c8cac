"""Session state: the user's texts and choices, the same on every page and mirrored in the address.

Address and session are compared once, at the start of a run. Streamlit's own binding of widgets to the address loses
values from a link when the page changes, and a script cannot set it.

No key of this module is a widget's: Streamlit forgets the value of a widget that a run does not draw. A widget only
shows a value of the session, and its callback changes it (`pages.ui.state.bind`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from pages.ui.params.attention import AttentionParams, PinParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.fields import Params
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.params.model import ModelParams
from pages.ui.params.pages import KINDS_OF_PAGES
from pages.ui.params.state import EXAMPLES as EXAMPLES
from pages.ui.params.state import TEXT, State
from transformer.text.normalisation import valid
from transformer.values.trace import Kind

# Key of the widget that chooses the device.
DEVICE = "device"
# Keys of the session.
STATE = "_state"
MIRRORED = "_mirrored"
ADDRESS = "_address"
BOX_REQUEST = "_box_request"
ORIGIN = "_origin"
# Key of whether the translation that is read from now on is the one on the "Decoding step by step" page.
JUST_DECODED = "_just_decoded"
# Key of the quotation in the figures of a page that does not read the sentence.
QUOTED = "_quoted"
# Keys of the page's name, and of the experiment that the figures drawn from now on carry.
PAGE, CARRIED = "_page", "_carried"
# Key of the head that the page shows, as its parameters, whether or not the user chose it.
SHOWN_HEAD = "_shown_head"
DRAWN = "_drawn"
PREVIOUSLY_DRAWN = "_previously_drawn"

P = TypeVar("P", bound=Params)
A = TypeVar("A", bound=AttentionParams)


def is_new() -> bool:
    """Return whether the session has not drawn a page yet."""
    return ADDRESS not in st.session_state


def follow_address(page: str, *, write: bool = True) -> None:
    """Synchronize session and address; runs before any widget of `page`.

    With `write` off, the address stays unchanged, for a run that goes to another page.

    An address that differs from the last written one was opened by a link, a reload or the back button. Without a text
    it keeps the current text and its model. An address without any parameter comes from the menu and changes nothing.
    An address that comes with the use of a widget changes nothing either, even if the use had no effect. The widget was
    used before the browser received the last written address, and its callback stores another or the same state.
    """
    before = st.session_state.get(MIRRORED, State())
    state = st.session_state.get(STATE, before)
    opened = st.query_params.to_dict()
    just_decoded = st.session_state.pop(JUST_DECODED, False)
    if state is before and opened and opened != st.session_state.get(ADDRESS):
        state = _opened(opened, state)
    elif state.text != before.text or state.of(ModelParams) != before.of(ModelParams):
        if state.target == before.target:
            # A translation belongs to its sentence, and to the model that writes its language.
            state = replace(state, target="")
        state = state.each(lambda value: value.for_another_sentence())
    elif state.target != before.target:
        decoding = state.of(DecodingParams)
        state = state.each(lambda value: value.for_another_translation())
        if just_decoded:
            state = state.with_params(decoding)
    st.session_state[STATE] = state = _pinned_in_kind(state, page)
    st.session_state[PREVIOUSLY_DRAWN] = st.session_state.pop(DRAWN, None)
    st.session_state[PAGE] = page
    st.session_state.pop(QUOTED, None)
    st.session_state.pop(CARRIED, None)
    st.session_state.pop(SHOWN_HEAD, None)
    if write:
        _write_address(state, opened)


def _opened(address: Mapping[str, str], before: State) -> State:
    """Return the state of an address; without a text it keeps the text and the model of the state before."""
    here = {} if TEXT in address else {TEXT: before.text, **before.of(ModelParams).to_address()}
    return State.from_address({**here, **address})


def address_on(page: str, address: Mapping[str, str]) -> dict[str, str]:
    """An address as `follow_address` writes it on a page, so that a link to it is one stop of the back button."""
    return _pinned_in_kind(_opened(address, _state()), page).to_address()


def _pinned_in_kind(state: State, page: str) -> State:
    """Return a copy, but pins from an address without a kind belong to the kind that the page shows."""
    chosen = state.of(AttentionParams)
    kind = state.of(InsideParams).kind if page == "inside_a_layer" else KINDS_OF_PAGES.get(page)
    if kind is None or chosen == chosen.unpinned():
        return state
    return state.with_params(chosen.unpinned(), state.of(PinParams).pinned(kind, chosen.rows, chosen.columns))


def open_address(address: Mapping[str, str], *changed: Params) -> None:
    """Show the state of an address, with other parameters, as if it were opened. For callbacks, and before a change of
    page."""
    st.session_state[STATE] = st.session_state[MIRRORED] = State.from_address(address).with_params(*changed)


def address() -> dict[str, str]:
    """Return parameters of the address of the current state."""
    return _state().to_address()


def page_address(*changed: Params) -> dict[str, str]:
    """Return parameters of the current state's address, without the lecture; empty if a text is too long for one.

    Args:
        changed: URL parameters of pages that differ in it.
    """
    return _state().with_params(*changed).page_address()


def rewrite_address() -> None:
    """Write the session's state into the address; for pages that correct a choice after reading the sentence."""
    _write_address(_state(), st.session_state[ADDRESS])


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
    """Return the sentence that is read."""
    return _state().text


def target() -> str:
    """Return the translation that is read instead of the model's own; empty for none."""
    return _state().target


def quote(words: str) -> None:
    """Have the figures of this run quote other words than the sentence."""
    st.session_state[QUOTED] = words


def quoted() -> str:
    """Return the words that the captions of figures quote."""
    return st.session_state.get(QUOTED, f"Sentence: {text()}")


def page() -> str:
    """Return the name of the open page."""
    return st.session_state[PAGE]


def carry(experiment: str) -> None:
    """Have the figures that are drawn from now on in this run carry an experiment."""
    st.session_state[CARRIED] = experiment


def carried() -> str:
    """Return the experiment that figures carry; empty for none."""
    return st.session_state.get(CARRIED, "")


def read_text(typed: str) -> None:
    """Callback of the box of the sentence."""
    _update(text=valid(typed))


def read_target(typed: str) -> None:
    """Callback of the box of another translation."""
    _update(target=valid(typed))


def address_of(text: str, kind: Kind, chosen: AttentionParams) -> dict[str, str]:
    """Return the address of a head on a sentence; everything else stays the same.

    Args:
        text: the sentence, with the model's own translation.
        kind, chosen: the head, and its pins.
    """
    state = replace(_state(), text=text, target="").each(lambda value: value.for_another_sentence())
    pins = PinParams().pinned(kind, chosen.rows, chosen.columns)
    return state.with_params(chosen.unpinned(), pins).to_address()


def try_sentence(sentence: str) -> None:
    """Callback: read a sentence that was offered."""
    read_text(sentence)
    refill_boxes()


def read_instead(target: str, origin: str = "") -> None:
    """Callback: read a decoded translation on all pages; the "Decoding step by step" page still shows its decoding.

    Args:
        target: empty for the model's own.
        origin: how it was decoded, in words.
    """
    read_target(target)
    refill_boxes()
    st.session_state[ORIGIN] = (target, origin)
    st.session_state[JUST_DECODED] = True


def origin(target: str) -> str:
    """How the translation that is read was decoded, in words; empty if it was not decoded here."""
    decoded, words = st.session_state.get(ORIGIN, ("", ""))
    return words if decoded == target else ""


def read_own_translation() -> None:
    """Callback: read the model's own translation again."""
    read_target("")
    refill_boxes()


def box_request() -> int:
    """Return a number that grows whenever the boxes must show the current texts, even while the user is typing."""
    return st.session_state.get(BOX_REQUEST, 0)


def refill_boxes() -> None:
    """Make the boxes show the current texts."""
    st.session_state[BOX_REQUEST] = box_request() + 1


def params(cls: type[P]) -> P:
    """Return the URL parameters of a page."""
    return _state().of(cls)


def store(value: Params) -> None:
    """Replace all URL parameters of a page. For callbacks, which run before the page, and before a page change."""
    st.session_state[STATE] = _state().with_params(value)


def update(cls: type[Params], **changes: object) -> None:
    """Replace some URL parameters of a page; otherwise as `store`."""
    store(replace(params(cls), **changes))


def attention(kind: Kind | None = None, of: type[A] = AttentionParams) -> A:
    """Return the shown head; with its pinned tokens if a kind is given, because they belong to the kind.

    Args:
        of: the class of parameters; for a model with one kind, the parameters hold the pins as well.
    """
    chosen = params(of)
    if kind is None or of is not AttentionParams:
        return chosen
    rows, columns = params(PinParams).of(kind)
    return replace(chosen, rows=rows, columns=columns)


def store_attention(chosen: AttentionParams, kind: Kind | None = None) -> None:
    """Replace the shown head and, if a kind is given, its pins; otherwise as `store`."""
    if type(chosen) is not AttentionParams:
        store(chosen)
        return
    store(chosen.unpinned())
    if kind is not None:
        store(params(PinParams).pinned(kind, chosen.rows, chosen.columns))


def update_attention(kind: Kind | None = None, of: type[AttentionParams] = AttentionParams, **changes: object) -> None:
    """Replace some of the values that `attention` returns; otherwise as `store`."""
    store_attention(replace(attention(kind, of), **changes), kind)


def note_head(chosen: AttentionParams) -> None:
    """Note the head that this run shows."""
    st.session_state[SHOWN_HEAD] = chosen.layer, chosen.head, type(chosen)


def shown_head() -> tuple[AttentionParams, ...]:
    """Return the parameters that choose the head that the page shows; empty if it shows none."""
    layer, head, of = st.session_state.get(SHOWN_HEAD, (0, 0, None))
    return () if of is None else (replace(params(of), layer=layer, head=head),)


def was_drawn(key: str) -> bool:
    """Whether the previous run drew the same element, so that the browser still has it; notes that this run does."""
    st.session_state[DRAWN] = key
    return st.session_state.get(PREVIOUSLY_DRAWN) == key
