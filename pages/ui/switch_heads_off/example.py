"""Offers an example to start with: a few heads whose removal changes the translation."""

import streamlit as st

from pages.ui.heads.kinds import head_title
from pages.ui.params.switch_heads_off import HeadSet, OffParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.text.markup import markdown
from transformer.ablation.decisive_heads import DecisiveHeads, DecisiveHeadsRun
from transformer.values.interventions import Head

# Session-state key of the example that the user has accepted: the sentence, and the heads to switch off.
ACCEPTED = "_off_example"


def show_example(reading: Reading) -> None:
    """Offer an example while all heads are on; otherwise name the heads that are off, and offer to switch them on.

    A row is shown in both cases, so that the maps below do not jump when heads are switched.
    """
    text, params = reading.trace.source_text, session.params(OffParams)
    with st.container(horizontal=True, vertical_alignment="center"):
        if not (heads := params.within(reading.config)):
            decisive = reading.runs.get(DecisiveHeadsRun(text))
            description = describe_example(decisive)
            st.button(
                f"Try: switch off {heads_in_words(decisive.heads)}",
                key="off_try",
                type="primary",
                icon=":material/lightbulb:",
                on_click=_take,
                args=(text, decisive),
            )
        else:
            example = st.session_state.get(ACCEPTED) == (text, params.heads)
            whose = "This is the example, not your choice" if example else "Your choice"
            description = f"**{whose}:** {heads_in_words(heads)} off."
            st.button(
                "Clear the example" if example else "Clear your choice",
                key="off_clear",
                icon=":material/close:",
                on_click=_clear,
            )
        with st.container(width="stretch"):
            st.markdown(description)


def heads_in_words(heads: tuple[Head, ...]) -> str:
    """Return the name of a single head, or the number of heads, such as "3 heads"."""
    return head_title(*heads[0]) if len(heads) == 1 else f"{len(heads)} heads"


def describe_example(decisive: DecisiveHeads) -> str:
    """Return Markdown that describes the effect of the example, and how the example was found."""
    if not decisive.translation:
        return (
            "The translation stays the same, but becomes less likely. No set of heads that was tried changes its words."
        )
    alone = "" if len(decisive.heads) == 1 else " No single head that was tried changes the translation."
    return f"The model then writes “{markdown(decisive.translation)}”{alone}"


def _take(text: str, decisive: DecisiveHeads) -> None:
    heads = HeadSet(tuple(sorted(decisive.heads)))
    st.session_state[ACCEPTED] = text, heads
    session.update(OffParams, heads=heads, gate=0.0, mode="zero")


def _clear() -> None:
    session.update(OffParams, heads=HeadSet(()))
