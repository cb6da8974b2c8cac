"""Session state: the user's texts and choices, the same on every page and mirrored in the address.

Address and session are compared once, at the start of a run. Streamlit's own binding of widgets to the address is not
used: it loses values from a link when the page changes, and scripts cannot set it.

No session key of this module belongs to a widget, because Streamlit forgets the value of a widget that a run does not
draw. A widget only shows a value of the session, and its callback changes the value (`pages.ui.state.bind`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from pages.ui.params.attention import AttentionParams, PinParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.fields import Params
from pages.ui.params.how_it_came_about import GraphParams
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.params.model import ModelParams
from pages.ui.params.pages import KINDS_OF_PAGES
from pages.ui.params.patch import PatchParams
from pages.ui.params.sentence_list import ListParams
from pages.ui.params.state import EXAMPLES as EXAMPLES
from pages.ui.params.state import TEXT, State
from pages.ui.params.subject import TRANSLATOR, SubjectParams
from pages.ui.params.what_mattered import MatteredParams
from pages.ui.text.sentence_list import SentenceList, sentences_in
from transformer.text.normalisation import valid
from transformer.values.trace import Kind

# Key of the widget that chooses the device.
DEVICE = "device"
# Pages that explain a predicted token of the translation.
ASKING = (PatchParams, GraphParams, MatteredParams)
# Keys of the session.
STATE = "_state"
MIRRORED = "_mirrored"
ADDRESS = "_address"
BOX_REQUEST = "_box_request"
ORIGIN = "_origin"
# Session key of whether the translation to read was just decoded on the "Decoding step by step" page.
JUST_DECODED = "_just_decoded"
# Session key of the text that figures quote on a page that does not read the sentence.
QUOTED = "_quoted"
# Session keys of the page's name, and of the experiment that is embedded in the figures drawn from now on.
PAGE, CARRIED = "_page", "_carried"
# Session key of the head that the page shows, as parameters, whether or not the user chose it.
SHOWN_HEAD = "_shown_head"
# Session key of the user's list of sentences.
MINE = "_my_sentences"
DRAWN = "_drawn"
PREVIOUSLY_DRAWN = "_previously_drawn"

P = TypeVar("P", bound=Params)
A = TypeVar("A", bound=AttentionParams)


def is_new() -> bool:
    """Return whether the session has not yet drawn a page."""
    return ADDRESS not in st.session_state


def follow_address(page: str, *, write: bool = True) -> None:
    """Synchronise session and address; called before any widget of `page` is drawn.

    If `write` is off, the address stays unchanged, for a run that goes to another page.

    An address that differs from the last written one was opened by a link, a reload or the back button. If it has no
    text, the session keeps its text and model. An address without parameters comes from the menu and changes nothing.
    An address that arrives together with a widget event changes nothing either, even if the event had no effect. The
    user operated the widget before the browser received the last written address.
    """
    before = st.session_state.get(MIRRORED, State())
    state = st.session_state.get(STATE, before)
    opened = st.query_params.to_dict()
    just_decoded = st.session_state.pop(JUST_DECODED, False)
    if state is before and opened and opened != st.session_state.get(ADDRESS):
        state = _opened(opened, state)
    elif state.text != before.text or state.of(ModelParams) != before.of(ModelParams):
        if state.target == before.target:
            # Drop the translation, which belongs to its sentence and to a model that writes its language.
            state = replace(state, target="")
        state = state.each(lambda value: value.for_another_sentence())
    elif state.target != before.target:
        decoding = state.of(DecodingParams)
        state = state.each(lambda value: value.for_another_translation())
        if just_decoded:
            state = state.with_params(decoding)
    else:
        state = _asking_the_same(state, before)
    st.session_state[STATE] = state = _pinned_in_kind(_without_list(state), page)
    st.session_state[PREVIOUSLY_DRAWN] = st.session_state.pop(DRAWN, None)
    st.session_state[PAGE] = page
    st.session_state.pop(QUOTED, None)
    st.session_state.pop(CARRIED, None)
    st.session_state.pop(SHOWN_HEAD, None)
    if write:
        _write_address(state, opened)


def _opened(address: Mapping[str, str], before: State) -> State:
    """Return the state of an address; if the address has no text, keep the previous text and model."""
    here = {} if TEXT in address else {TEXT: before.text, **before.of(ModelParams).to_address()}
    return _asking_the_same(State.from_address({**here, **address}))


def _asking_the_same(state: State, before: State | None = None) -> State:
    """Return a copy in which all pages that explain a predicted token explain the one that was chosen.

    Args:
        before: the state before the choice; None for an address, whose own choices stay.
    """
    if state.of(SubjectParams).subject != TRANSLATOR:
        return state
    chosen = [
        (cls, asked)
        for cls in ASKING
        if (asked := state.of(cls).asked) and (before is None or asked != before.of(cls).asked)
    ]
    if not chosen:
        return state
    own, asked = chosen[0]
    others = [state.of(cls) for cls in ASKING if cls is not own]
    if before is None:
        others = [each for each in others if each == each.for_another_translation()]
    return state.with_params(*(each.asking(asked) for each in others))


def _without_list(state: State) -> State:
    """Return a copy without a slide's list of sentences, which the session keeps; it is too long for every address."""
    found = sentences_in(state.of(ListParams).sentences)
    if found.sentences:
        st.session_state[MINE] = found
    return state.with_params(ListParams())


def address_on(page: str, address: Mapping[str, str]) -> dict[str, str]:
    """Return an address as `follow_address` would write it on a page, so that its link adds one history entry."""
    return _pinned_in_kind(_opened(address, _state()), page).to_address()


def _pinned_in_kind(state: State, page: str) -> State:
    """Return a copy in which pins from an address, which has no kind, belong to the kind that the page shows."""
    chosen = state.of(AttentionParams)
    kind = state.of(InsideParams).kind if page == "inside_a_layer" else KINDS_OF_PAGES.get(page)
    if kind is None or chosen == chosen.unpinned():
        return state
    return state.with_params(chosen.unpinned(), state.of(PinParams).pinned(kind, chosen.rows, chosen.columns))


def open_address(address: Mapping[str, str], *changed: Params) -> None:
    """Show the state of an address, with some parameters changed, as if the address were opened.

    Call this in callbacks, and before a page change.
    """
    st.session_state[STATE] = st.session_state[MIRRORED] = State.from_address(address).with_params(*changed)


def address() -> dict[str, str]:
    """Return the query parameters of the current state."""
    return _state().to_address()


def page_address(*changed: Params) -> dict[str, str]:
    """Return the query parameters of the current state without the lecture; empty if a text is too long.

    Args:
        changed: URL parameters of pages that replace the current ones.
    """
    return _state().with_params(*changed).page_address()


def rewrite_address() -> None:
    """Write the session's state to the address; called by pages that correct a choice after reading the sentence."""
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
    """Make the figures of this run quote other words than the sentence."""
    st.session_state[QUOTED] = words


def quoted() -> str:
    """Return the words that the captions of figures quote."""
    return st.session_state.get(QUOTED, f"Sentence: {text()}")


def page() -> str:
    """Return the name of the open page."""
    return st.session_state[PAGE]


def carry(experiment: str) -> None:
    """Embed an experiment in the figures that are drawn from now on in this run."""
    st.session_state[CARRIED] = experiment


def carried() -> str:
    """Return the experiment that is embedded in figures; empty for none."""
    return st.session_state.get(CARRIED, "")


def read_text(typed: str) -> None:
    """Callback of the sentence's text box: read another sentence."""
    _update(text=valid(typed))


def read_target(typed: str) -> None:
    """Callback of the translation's text box: read the user's own translation."""
    _update(target=valid(typed))


def address_of(text: str, kind: Kind, chosen: AttentionParams) -> dict[str, str]:
    """Return the address of a head on a sentence; everything else stays as in the session.

    Args:
        text: the sentence, which is read with the model's own translation.
        kind, chosen: the kind of attention, and the head with its pins.
    """
    state = replace(_state(), text=text, target="").each(lambda value: value.for_another_sentence())
    pins = PinParams().pinned(kind, chosen.rows, chosen.columns)
    return state.with_params(chosen.unpinned(), pins).to_address()


def try_sentence(sentence: str) -> None:
    """Callback: read a suggested sentence."""
    read_text(sentence)
    refill_boxes()


def read_instead(target: str, origin: str = "") -> None:
    """Callback: read a decoded translation on all pages; "Decoding step by step" keeps showing how it was decoded.

    Args:
        target: the translation; empty for the model's own.
        origin: a description of how it was decoded.
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
    """Return a number that increases whenever the text boxes must show the current texts, even during typing."""
    return st.session_state.get(BOX_REQUEST, 0)


def refill_boxes() -> None:
    """Make the text boxes show the current texts."""
    st.session_state[BOX_REQUEST] = box_request() + 1


def sentence_list() -> SentenceList:
    """Return the user's list of sentences; empty without one."""
    return st.session_state.get(MINE, SentenceList())


def params(cls: type[P]) -> P:
    """Return the URL parameters of a page."""
    return _state().of(cls)


def store(value: Params) -> None:
    """Replace all URL parameters of a page; for use in callbacks, which run before the page, or before page changes."""
    st.session_state[STATE] = _state().with_params(value)


def update(cls: type[Params], **changes: object) -> None:
    """Replace some URL parameters of a page; otherwise like `store`."""
    store(replace(params(cls), **changes))


def attention(kind: Kind | None = None, of: type[A] = AttentionParams) -> A:
    """Return the shown head, with its pinned tokens if a kind is given, because pins belong to a kind.

    Args:
        of: the class of parameters; for a model with a single kind, it includes the pins.
    """
    chosen = params(of)
    if kind is None or of is not AttentionParams:
        return chosen
    rows, columns = params(PinParams).of(kind)
    return replace(chosen, rows=rows, columns=columns)


def store_attention(chosen: AttentionParams, kind: Kind | None = None) -> None:
    """Replace the shown head and, if a kind is given, its pins; otherwise like `store`."""
    if type(chosen) is not AttentionParams:
        store(chosen)
        return
    store(chosen.unpinned())
    if kind is not None:
        store(params(PinParams).pinned(kind, chosen.rows, chosen.columns))


def update_attention(kind: Kind | None = None, of: type[AttentionParams] = AttentionParams, **changes: object) -> None:
    """Replace some of the values that `attention` returns; otherwise like `store`."""
    store_attention(replace(attention(kind, of), **changes), kind)


def note_head(chosen: AttentionParams) -> None:
    """Record the head that this run shows."""
    st.session_state[SHOWN_HEAD] = chosen.layer, chosen.head, type(chosen)


def shown_head() -> tuple[AttentionParams, ...]:
    """Return the parameters of the head that the page shows; empty if it shows none."""
    layer, head, of = st.session_state.get(SHOWN_HEAD, (0, 0, None))
    return () if of is None else (replace(params(of), layer=layer, head=head),)


def was_drawn(key: str) -> bool:
    """Return whether the previous run drew the same element, so the browser still has it; record it for this run."""
    st.session_state[DRAWN] = key
    return st.session_state.get(PREVIOUSLY_DRAWN) == key
