"""Controls for choosing what to explain: a word, the whole translation, or the choice of one word over another."""

import streamlit as st

from attention_atlas.browser.token_labels import entry_label
from pages.ui.params.what_mattered import NOTHING, WHOLE, MatteredParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind, key_for, preset, when_chosen
from pages.ui.text.glossary import explain
from pages.ui.what_mattered.question import (
    AttributionQuestion,
    candidates,
    default_group,
    explained_group,
    group_labels,
    is_long,
    label_markdown,
    question_of,
    word_groups,
)
from transformer.analysis.words import Group
from transformer.running.runs.attribution import AttributionRun

WORD_KEY = "mattered_word"


def pick_question(reading: Reading) -> AttributionQuestion:
    """Show buttons for a translation's words and a menu of alternatives to the chosen word; return the question."""
    trace, params = reading.trace, session.params(MatteredParams)
    words = not params.tokens
    word = explained_group(trace, params) or _default_word(reading, words=words)
    groups = {group[0] + 1: group for group in word_groups(trace, words=words)}
    option = WHOLE if params.explained == WHOLE else str(word[0] + 1)

    names = map(label_markdown, group_labels(trace, tuple(groups.values()), words=words))
    labels = dict(zip(map(str, groups), names, strict=True)) | {WHOLE: "the whole translation"}
    st.pills(
        "What mattered for",
        list(labels),
        format_func=labels.__getitem__,
        required=True,
        key=preset(WORD_KEY, option),
        on_change=when_chosen(WORD_KEY, lambda key: session.update(MatteredParams, explained=key, against=NOTHING)),
        help="Choose what to explain: a word or token that the model wrote, or the whole translation.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if option != WHOLE:
            _pick_other(reading, groups[int(option)])
        st.toggle("Tokens instead of words", help=explain("token"), **bind(MatteredParams, "tokens"))
    question = question_of(trace, reading.translator.tokenizer, params, word, reading.languages)
    if question.other and len(groups[int(option)]) > 1:
        st.caption("Candidates are single tokens, so only the word's first token is compared with the other candidate.")
    return question


def _pick_other(reading: Reading, group: Group) -> None:
    probabilities = candidates(reading.trace, reading.translator.tokenizer.symbols, group)
    against = session.params(MatteredParams).against
    labels = {NOTHING: "no other word"} | {
        token: f"{entry_label(reading.translator.tokenizer, token)} ({probability:.1%})"
        for token, probability in probabilities.items()
    }
    key = key_for("mattered_other", labels.values())

    def store_other() -> None:
        session.update(MatteredParams, explained=str(group[0] + 1), against=st.session_state[key])

    st.selectbox(
        "Compared with",
        list(labels),
        width=320,
        format_func=labels.__getitem__,
        key=preset(key, against if against in labels else NOTHING),
        on_change=store_other,
        help="The other tokens that the model found likely at this step, with their probabilities.",
    )


def _default_word(reading: Reading, *, words: bool) -> Group:
    """Return the word to explain by default: the first one for which attention weights and erasure disagree.

    If they never disagree, return the least certain word. For a long sentence, ALTI+ replaces erasure, because erasure
    needs many model runs.
    """
    methods = ("weights", "alti" if is_long(reading.trace) else "erasure")
    tops = [reading.runs.get(AttributionRun(reading.run, method, words=words)).source for method in methods]
    first = (scores.argmax(axis=1) for scores in tops)
    return default_group(reading.trace, *first, words=words)
