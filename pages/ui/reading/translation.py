"""The translation that was read, with what to know of it, and a way to have another one read."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.ui.components.text_box import text_box
from pages.ui.reading.model_picker import ships
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.hints import hints, rare_words
from pages.ui.text.markup import BYTE, markdown
from pages.ui.text.number_format import parameter_count, typeset
from transformer.values.trace import Trace

# How many translations were given: so many boxes for one were open, and are closed.
ANOTHER = "another_translation"
# A translation without a piece.
NOTHING = "*(nothing: the end symbol came first)*"
# Characters; a longer one would fill a projector.
LONGEST_HEADLINE = 160
# What the model that ships is known for.
LIMITS = (
    " A model this small copes with plain everyday sentences at best; it often gets rare words, names and numbers "
    "wrong."
)


def show_translation(
    reading: Reading, *, large: bool = False, label: str = "", beside: Callable[[], None] | None = None
) -> None:
    """The translation, how long both sentences are, and a way to have another translation read.

    Args:
        reading: of which the model's own translation is shown, and the given one if there is one.
        large: as the page's headline, with what it took.
        label: what the model's own is called where it is no headline; empty for its language.
        beside: draws another button of the page.
    """
    target = markdown(reading.languages.target.name)
    with st.container(horizontal=True, vertical_alignment="center", key="translation"):
        with st.container(width="stretch"):
            _show_words(reading.own, large=large, label=label or target)
        if beside is not None:
            beside()
        another = st.popover(
            "Let it read my translation", icon=":material/compare_arrows:", on_change="rerun",
            key=f"{ANOTHER}_{st.session_state.get(ANOTHER, 0)}",
        )
    with another:
        text_box(
            "another", session.target(), _read_another, label=f"Your {target} translation",
            placeholder=f"Type a translation into {target} …", button="Let the model read it",
            asked=session.box_request(), belongs=reading.own.source_text,
            help=f"Teacher forcing: {explain('teacher forcing')}",
        )
    # Their place stays where there is nothing to say: so the figure below stays in its own, and keeps the focus.
    with st.container():
        if reading.given:
            _show_given(reading)
        remarks = [*([_effort(reading)] if large else []), *_warnings(reading, cautioned=large)]
        if remarks:
            st.caption(" ".join(remarks))


def _show_given(reading: Reading) -> None:
    read, back = st.columns([7, 3], vertical_alignment="center")
    origin = session.origin(reading.trace.target_text)
    whose = f"from {markdown(origin)}" if origin else "given, not the model's own"
    read.markdown(
        f"**The model now reads:** {markdown(reading.trace.target_text)} ({whose})  \n{likelihood(reading.trace)}; "
        f"the model's own: {likelihood(reading.own)}.", help=explain("log-probability", "nats", "piece"),
    )
    back.button("Back to the model's own", on_click=session.read_own_translation, width="stretch")


def _read_another(typed: str) -> None:
    """Callback: read the translation and close its box, which would lie over the button back to the model's own.

    Another box is drawn, which is closed: a message that the browser sends meanwhile still says that the one before is
    open.
    """
    session.read_target(typed)
    st.session_state[ANOTHER] = st.session_state.get(ANOTHER, 0) + 1


def _effort(reading: Reading) -> str:
    own, model = reading.own, reading.translator
    source, target = len(own.source_pieces) - 1, len(own.predicted_pieces) - own.complete
    return (
        f"{source} {'piece' if source == 1 else 'pieces'} read, {target} written, by "
        f"{parameter_count(model.parameters)} on {model.device.upper()}."
    ) + (LIMITS if ships(model) else "")


def _warnings(reading: Reading, *, cautioned: bool) -> list[str]:
    """What a reader should know of this translation.

    Args:
        cautioned: LIMITS are said of the model that ships.
    """
    own, warnings = reading.own, []
    if not own.complete:
        warnings.append("The translation reached the limit on length before it was finished.")
    if reading.translator.tokenizer.codes and own.source_pieces[0].role != "language":
        warnings.append("This model writes several languages: choose one beside the sentence, or it guesses.")
    spelt = [(own.source_text[slice(*piece.span)], piece) for piece in own.source_pieces if piece.span]
    if strange := dict.fromkeys(text for text, piece in spelt if BYTE.fullmatch(piece.text)):
        warnings.append(f"The model has no piece for {markdown(' '.join(strange))}: it reads the bytes and guesses.")
    if strange := dict.fromkeys(text for text, piece in spelt if piece.role == "unknown"):
        warnings.append(f"The model has no piece for {markdown(' '.join(strange))}: it reads “unknown” and guesses.")
    if ships(reading.translator):
        warnings += hints(own.source_text, cautioned=cautioned) or _rare(own)
    return warnings


def _rare(own: Trace) -> list[str]:
    words = rare_words(own.source_text, own.source_pieces)
    named, them = ", ".join(f"“{markdown(word)}”" for word in words), "it" if len(words) == 1 else "them"
    return [f"The model hardly knows {named}: it reads {them} in pieces and may get {them} wrong."] if words else []


def likelihood(trace: Trace) -> str:
    """How likely the model finds a translation."""
    total, pieces = float(trace.log_probs.sum()), len(trace.log_probs)
    return f"log-probability {typeset(total)} nats, {typeset(total / pieces)} a piece"


def _show_words(trace: Trace, *, large: bool, label: str) -> None:
    german = markdown(trace.target_text) or NOTHING
    if large and len(trace.target_text) <= LONGEST_HEADLINE:
        st.subheader(german, anchor=False)
    else:
        st.markdown(f"**{label}:** {german}")
