"""Shows the translation with remarks, and a box for entering another translation."""

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.components.text_box import text_box
from pages.ui.reading.model_picker import is_shipped
from pages.ui.reading.sentence import Reading
from pages.ui.runs.models import server
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.hints import LUCKY, MISTAKES, describe_likely_errors, known_remarks, rare_words, unusual_spelling
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import parameter_count, typeset
from transformer.values.trace import Trace

# Session-state key for the number of translations that the user has entered. The key of the widget for entering a
# translation contains this number, so the widget closes whenever the number changes.
OWN_TRANSLATION = "another_translation"
# Shown in place of a translation without tokens.
EMPTY_TRANSLATION = "*(nothing: the end symbol came first)*"
PROCESSORS = {"cpu": "the CPU", "cuda": "the GPU", "mps": "the GPU"}


def show_translation(reading: Reading, *, large: bool = False, label: str = "") -> DeltaGenerator:
    """Show the model's own translation, the user's translation if there is one, and a box for entering one.

    Return an empty container beside the translation, for another button.

    Args:
        reading: the sentence and its translation.
        large: whether to also show the number of tokens, the model's size and the settings that the app does not apply.
        label: the title of the model's own translation; empty for the name of the target language.
    """
    target = markdown(reading.languages.target.name)
    with st.container(horizontal=True, vertical_alignment="center", key="translation"):
        with st.container(width="stretch"):
            own = f"**{label or target}:** {markdown(reading.own.target_text) or EMPTY_TRANSLATION}"
            st.markdown("  \n".join([own, *_known(reading, MISTAKES)]))
        beside = st.container(width="content")
        another = st.popover(
            "Try my own translation",
            icon=":material/compare_arrows:",
            on_change="rerun",
            key=f"{OWN_TRANSLATION}_{st.session_state.get(OWN_TRANSLATION, 0)}",
        )
    with another:
        text_box(
            "another",
            session.target(),
            _read_another,
            label=f"Your {target} translation",
            placeholder=f"Type a translation into {target} …",
            button="Use this translation",
            request=session.box_request(),
            belongs=reading.own.source_text,
            help=f"Teacher forcing: {explain('teacher forcing')}",
        )
    # The container exists even if empty, so that the figure below keeps its identity and the keyboard focus.
    with st.container():
        if reading.given:
            _show_given(reading)
        if remarks := [
            *([*_known(reading, LUCKY), _describe_effort(reading), *_describe_unapplied(reading)] if large else []),
            *_remarks(reading),
        ]:
            st.caption(" ".join(remarks), help=explain("token", "parameter", "head") if large else None)
    return beside


def _show_given(reading: Reading) -> None:
    read, back = st.columns([7, 3], vertical_alignment="center")
    origin = session.origin(reading.trace.target_text)
    whose = f"from {markdown(origin)}" if origin else "not the model's own translation"
    read.markdown(
        f"**The model now reads:** {markdown(reading.trace.target_text)} ({whose})  \n{likelihood(reading.trace)}; "
        f"the model's own translation: {likelihood(reading.own)}.",
        help=explain("log-probability", "nats", "token"),
    )
    back.button("Back to the model's translation", on_click=session.read_own_translation, width="stretch")


def _read_another(typed: str) -> None:
    """Callback: read the user's translation, and close its input box, which would otherwise cover the discard button.

    A new key closes the box. With the old key, a late message from the browser would report it as still open.
    """
    session.read_target(typed)
    st.session_state[OWN_TRANSLATION] = st.session_state.get(OWN_TRANSLATION, 0) + 1


def _describe_effort(reading: Reading) -> str:
    own, model = reading.own, reading.translator
    source, target = len(own.source_tokens) - 1, len(own.predicted_tokens) - own.complete
    where = PROCESSORS[model.device] + (" of the model server" if server() else "")
    return (
        f"The model ({parameter_count(model.parameters)}, on {where}) read {source} "
        f"{'token' if source == 1 else 'tokens at once'} and wrote {target}"
        f"{' and the end symbol' if own.complete else ''} one by one, because each depends on those before it."
    )


def _describe_unapplied(reading: Reading) -> list[str]:
    """Return Markdown about an imported model's decoding settings that the app does not apply; empty if none."""
    settings = reading.translator.config.unapplied
    return (
        [
            f"This model's settings also include {markdown(', '.join(settings))}. This page does not apply them, so "
            "`generate` in Transformers may translate differently. *Decoding step by step* offers beam search."
        ]
        if settings
        else []
    )


def _known(reading: Reading, remarks: Mapping[tuple[str, str], str]) -> list[str]:
    own = reading.own
    return known_remarks(remarks, own.source_text, own.target_text) if is_shipped(reading.translator) else []


def _remarks(reading: Reading) -> list[str]:
    """Return Markdown remarks on possible errors in the built-in model's own translation."""
    own = reading.own
    if not is_shipped(reading.translator) or unusual_spelling(own.source_text):
        return []
    return describe_likely_errors(own.source_text) or _describe_rare_words(own)


def _describe_rare_words(own: Trace) -> list[str]:
    words = rare_words(own.source_text, own.source_tokens)
    quoted_words, them = ", ".join(f"“{markdown(word)}”" for word in words), "it" if len(words) == 1 else "them"
    rare = f"The model hardly knows {quoted_words}: it uses several tokens for {them} and may get {them} wrong."
    return [rare] if words else []


def likelihood(trace: Trace) -> str:
    """Describe a translation's log-probability, in total and per token."""
    total, tokens = float(trace.log_probs.sum()), len(trace.log_probs)
    return f"log-probability {typeset(total)} nats, {typeset(total / tokens)} per token"
