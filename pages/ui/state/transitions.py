"""Pure functions that compute the new state when the URL, the sentence, the translation or the page changes."""

from collections.abc import Mapping
from dataclasses import replace

from pages.ui.params.attention import AttentionParams, PinParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.how_it_came_about import GraphParams
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.params.model import ModelParams
from pages.ui.params.pages import KINDS_OF_PAGES
from pages.ui.params.patch import PatchParams
from pages.ui.params.state import TEXT, State
from pages.ui.params.subject import TRANSLATOR, SubjectParams
from pages.ui.params.what_mattered import MatteredParams

# Parameters of the pages that explain a predicted token of the translation.
TOKEN_PAGES = (PatchParams, GraphParams, MatteredParams)


def opened_state(address: Mapping[str, str], before: State) -> State:
    """Parse the state from a URL's parameters; if they lack a text, keep the previous text and model."""
    here = {} if TEXT in address else {TEXT: before.text, **before.of(ModelParams).to_address()}
    return _with_same_token(State.from_address({**here, **address}))


def without_the_previous(state: State, before: State, *, just_decoded: bool) -> State:
    """Return the state after the user's choices, without values that fit only the previous sentence or translation.

    Args:
        state, before: the state after the user's choices, and the state before them.
        just_decoded: whether the user has just chosen a decoded translation (`session.read_instead`); if so, the
            decoding settings are kept.
    """
    if state.text != before.text or state.of(ModelParams) != before.of(ModelParams):
        if state.target == before.target:
            # Drop the user's translation, because it belongs to the previous sentence or the previous model's language.
            state = replace(state, target="")
        return state.each(lambda value: value.for_another_sentence())
    if state.target != before.target:
        reset = state.each(lambda value: value.for_another_translation())
        return reset.with_params(state.of(DecodingParams)) if just_decoded else reset
    return _with_same_token(state, before)


def _with_same_token(state: State, before: State | None = None) -> State:
    """Return a copy in which all TOKEN_PAGES explain the same predicted token: the one chosen on one of these pages.

    Args:
        before: the state before the choice; None if `state` comes from a URL, whose explicit choices are kept.
    """
    if state.of(SubjectParams).subject != TRANSLATOR:
        return state
    chosen = [
        (cls, asked)
        for cls in TOKEN_PAGES
        if (asked := state.of(cls).asked) and (before is None or asked != before.of(cls).asked)
    ]
    if not chosen:
        return state
    own, asked = chosen[0]
    others = [state.of(cls) for cls in TOKEN_PAGES if cls is not own]
    if before is None:
        others = [other for other in others if other == other.for_another_translation()]
    return state.with_params(*(other.asking(asked) for other in others))


def pinned_in_kind(state: State, page: str) -> State:
    """Return a copy of the state in which a URL's pins, which have no attention kind, get the page's attention kind."""
    chosen = state.of(AttentionParams)
    kind = state.of(InsideParams).kind if page == "inside_a_layer" else KINDS_OF_PAGES.get(page)
    if kind is None or chosen == chosen.unpinned():
        return state
    return state.with_params(chosen.unpinned(), state.of(PinParams).pinned(kind, chosen.rows, chosen.columns))
