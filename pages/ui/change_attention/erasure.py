"""Controls that erase words from the sentence and from the translation."""

import streamlit as st

from attention_atlas.browser.labels import disambiguate
from attention_atlas.browser.token_labels import group_label
from pages.ui.change_attention.history import update_edits
from pages.ui.change_attention.resolution import without_words
from pages.ui.params.change_attention import ERASURES, INVISIBLE, LEFT_OUT, EditParams
from pages.ui.reading.sentence import Reading
from pages.ui.reading.translation import EMPTY_TRANSLATION
from pages.ui.state import session
from pages.ui.state.bind import preset, when_chosen
from pages.ui.text.differences import merged_words
from pages.ui.text.markup import markdown
from transformer.analysis.words import groups_of
from transformer.errors import AtlasError
from transformer.running.runs.trace import TraceRun
from transformer.values.tokens import Token

NAMES = {INVISIBLE: "Made invisible", LEFT_OUT: "Left out"}
EXPLANATIONS = {
    INVISIBLE: "No other word can look at an erased word, in any layer; all words keep their positions.",
    LEFT_OUT: "The model reads a shorter sentence, in which the words after the gap move up. Your other changes still "
    "apply to the full sentence.",
}


def show_erasing(reading: Reading, translation: str, *, words: bool) -> None:
    """Show buttons that erase words of the sentence and the translation, and a control that sets how words are erased.

    Args:
        reading: the sentence and its model run.
        translation: the changed model's translation, repeated here because on a phone the top of the page is off the
            screen.
        words: whether a button erases a whole word; if False, a single token.
    """
    trace, params = reading.trace, session.params(EditParams)
    st.markdown("**Click words to erase them.** Click again to bring them back.")
    _show_word_buttons(
        f"Words of the {reading.languages.source.name} sentence",
        "hidden_source",
        trace.source_tokens,
        trace.source_text,
        words=words,
    )
    st.segmented_control(
        "How words are erased",
        ERASURES,
        format_func=NAMES.__getitem__,
        required=True,
        key=preset("edit_erasure", params.erasure),
        on_change=when_chosen("edit_erasure", lambda erasure: update_edits(erasure=erasure)),
        help=" ".join(f"*{NAMES[erasure]}*: {EXPLANATIONS[erasure]}" for erasure in ERASURES),
    )
    st.caption(EXPLANATIONS[params.erasure])
    if params.left_out:
        _show_shorter(reading, params)
    _show_word_buttons(
        f"{reading.languages.target.name} words already written",
        "hidden_target",
        trace.target_tokens,
        trace.target_text,
        words=words,
    )
    st.caption("Later steps cannot look at these words, but the words stay in the translation.")
    if params.hidden_target or (params.hidden_source and not params.left_out):
        st.markdown(f"→ {merged_words(trace.target_text, translation) or EMPTY_TRANSLATION}")


def _show_word_buttons(label: str, name: str, tokens: tuple[Token, ...], text: str, *, words: bool) -> None:
    groups = groups_of(tokens, text, words=words)
    labels = list(
        map(
            markdown,
            disambiguate(group_label([tokens[position] for position in group], text, words=words) for group in groups),
        )
    )
    erased = set(getattr(session.params(EditParams), name))
    key = f"edit_{name}"

    def store() -> None:
        positions = [position for number in st.session_state[key] or () for position in groups[number]]
        update_edits(**{name: tuple(sorted(positions)), "step": ""})

    st.pills(
        label,
        range(len(groups)),
        selection_mode="multi",
        format_func=labels.__getitem__,
        on_change=store,
        wrap=True,
        key=preset(key, [number for number, group in enumerate(groups) if erased & set(group)]),
    )


def _show_shorter(reading: Reading, params: EditParams) -> None:
    shorter = without_words(reading.trace, params.hidden_source)
    try:
        trace = reading.runs.get(TraceRun(shorter))
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        return
    st.markdown(
        f"{markdown(shorter)}  \n→ {merged_words(reading.own.target_text, trace.target_text) or EMPTY_TRANSLATION}"
    )
    st.button(
        "Read this sentence instead",
        key="edit_read_shorter",
        icon=":material/edit:",
        on_click=session.try_sentence,
        args=(shorter,),
    )
