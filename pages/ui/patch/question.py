"""Controls for the patching question: sentence B, the decoding step, and the two next tokens to compare."""

from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from attention_atlas.browser.token_labels import entry_label, label_without_space, token_label
from pages.ui.components.text_focus import focus_last_word
from pages.ui.layout.roles import main_figure
from pages.ui.params.patch import PatchParams
from pages.ui.reading.pairs import PAIRS, describe_translations
from pages.ui.reading.sentence import Reading
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind, key_for, preset
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.ablation.continuation import candidates
from transformer.ablation.patching import (
    MIN_DIFFERENCE,
    Contrasts,
    DifferencesRun,
    PatchingQuestion,
    PatchRun,
    question_of,
    step_to_show,
    steps_of_changed_word,
)
from transformer.errors import AtlasError
from transformer.running.runs.trace import TraceRun
from transformer.values.trace import Trace

MAX_OFFERED = 6
OTHER_LABEL = "Sentence B: sentence A above, with one word changed"


@dataclass(frozen=True, eq=False)
class PatchingPair:
    """Two sentences, A and B, and the patching question about them.

    Attributes:
        reading: sentence A with its model, trace and languages.
        a, b: the traces of the two sentences, both with A's translation.
        question: the question for patching A's run with values from B.
    """

    reading: Reading
    a: Trace
    b: Trace
    question: PatchingQuestion

    def token_markdown(self, number: int) -> str:
        """Return Markdown for one of the two compared tokens; `number` is its index, 0 or 1."""
        return f"**{markdown(label_without_space(entry_label(self.reading.tokenizer, self.question.tokens[number])))}**"


def pick_question(reading: Reading) -> PatchingPair:
    """Show controls for sentence B, the step and the two tokens, and return them as a `PatchingPair`.

    Also show which of the two tokens the model prefers with A and with B.
    """
    text, target = reading.trace.source_text, tuple(token.id for token in reading.trace.predicted_tokens)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        other = _pick_other(text)
        # On a narrow screen, these controls wrap to the next line together, so that sentence B is not cut off.
        with st.container(horizontal=True, vertical_alignment="bottom", width="content"):
            places = [st.container(width=180) for _ in range(3)]
    if other == text:
        # The message is a main figure, because lecture mode shows only main figures.
        main_figure().info(
            "**A and B are the same sentence,** so no patch changes anything. Change one word of B and press Enter, or "
            "choose an example under “Try a pair”.",
            icon=":material/edit:",
        )
        focus_last_word(OTHER_LABEL, text)
        raise PageEnd
    both = TraceRun(text, target, details=True), TraceRun(other, target, details=True)
    try:
        a, b = map(reading.runs.get, both)
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        raise PageEnd from None
    with places[0]:
        differences = reading.runs.get(DifferencesRun(*both))
        question = _pick_step(a, b, differences)
    pair = PatchingPair(reading, a, b, replace(question, tokens=_pick_tokens(reading, a, b, question, places[1:])))
    contrasts = reading.runs.get(PatchRun(pair.question, ()))
    st.markdown(_describe_preferences(pair, contrasts), help=explain("logit", "nats", "teacher forcing"))
    most = step_to_show(a, b, differences)
    # Do not offer a step that translates the changed word, because a difference at such a step is no surprise.
    if contrasts.is_close and differences[most] >= MIN_DIFFERENCE and not steps_of_changed_word(a, b)[most]:
        st.button(
            f"Go to a step where A and B differ more: {_step_label(a, most)} ({differences[most]:.1f} nats)",
            icon=":material/arrow_forward:",
            key="patch_most",
            on_click=_store_step,
            args=(most + 1,),
        )
    return pair


def _pick_other(text: str) -> str:
    """Show a text box for sentence B, and return B. Its default is A's partner in `PAIRS`, or A if `PAIRS` has none."""
    partner = next(
        (example.b if text == example.a else example.a for example in PAIRS if text in (example.a, example.b)), text
    )
    other = session.params(PatchParams).other or partner
    with st.popover("Try a pair"):
        for number, example in enumerate(PAIRS):
            sentences = example.a, example.b
            st.button(example.name, key=f"patch_pair_{number}", width="stretch", on_click=_take, args=sentences)
    st.text_input(
        OTHER_LABEL,
        width=580,
        **bind(PatchParams, "other", value=other),
        help="A is the sentence above. Words that occur in both sentences are matched. A changed word is matched with "
        "its replacement if both have the same number of tokens.",
    )
    return other


def _take(first: str, second: str) -> None:
    session.try_sentence(first)
    session.update(PatchParams, other=second)


def _pick_step(a: Trace, b: Trace, differences: np.ndarray) -> PatchingQuestion:
    last, chosen_step = len(a.predicted_tokens), session.params(PatchParams).step
    question = question_of(a, b, min(chosen_step, last) - 1 if chosen_step else step_to_show(a, b, differences))
    labels = {index + 1: f"{_step_label(a, index)} ({difference:.1f})" for index, difference in enumerate(differences)}
    key = key_for("patch_step", labels.values())
    st.selectbox(
        "Decoding step",
        list(labels),
        format_func=labels.__getitem__,
        key=preset(key, question.step + 1),
        on_change=lambda: _store_step(st.session_state[key]),
        help="Up to this step, the model reads A's translation for both sentences. The number in brackets says how "
        "much the model's preference differs between A and B, in nats. The default is the step with the largest "
        "difference. Two kinds of steps are skipped if others remain: steps that translate the changed word, and steps "
        "at which A and B lead to the same token.",
    )
    return question


def _step_label(trace: Trace, step: int) -> str:
    return f"{step + 1}: {token_label(trace.predicted_tokens[step], trace.target_text)}"


def _store_step(number: int) -> None:
    session.store(session.params(PatchParams).at_step(number))


def _pick_tokens(reading: Reading, a: Trace, b: Trace, question: PatchingQuestion, places: list) -> tuple[int, int]:
    params, step = session.params(PatchParams), question.step
    offered = [token for token, _ in candidates((a, b), step, MAX_OFFERED)]
    first = params.first if params.first in offered else question.tokens[0]
    others = [token for token in (params.second, *reversed(question.tokens)) if token in offered]
    tokens = first, next(token for token in others if token != first)
    for place, field, label, token in zip(
        places, ("first", "second"), ("First token", "Second token"), tokens, strict=True
    ):
        labels = {one: entry_label(reading.tokenizer, one) for one in offered if one == token or one not in tokens}
        key = key_for(f"patch_{field}", labels.values())

        def store(key: str = key, field: str = field) -> None:
            session.update(PatchParams, **{field: st.session_state[key], "step": step + 1})

        place.selectbox(label, list(labels), format_func=labels.__getitem__, key=preset(key, token), on_change=store)
    return tokens


def _describe_preferences(pair: PatchingPair, contrasts: Contrasts) -> str:
    """Return Markdown that says which token the model prefers with each sentence, and by how many nats."""
    names, both = [pair.token_markdown(0), pair.token_markdown(1)], (contrasts.run, contrasts.other)
    first, second = (" to ".join(names if value >= 0 else names[::-1]) for value in both)
    run, other = (f"{abs(value):.2f}" for value in both)
    description = f"With A, the model prefers {first} by {run} nats, and with B "
    description += f"by {other}. " if first == second else f"{second} by {other}. "
    translates_change = bool(steps_of_changed_word(pair.a, pair.b)[pair.question.step])
    if contrasts.is_close:
        description += (
            "**The changed word hardly affects this choice, which is itself a result.** The preferences for A and B "
            f"differ by only {abs(contrasts.other - contrasts.run):.2f} nats here, less than {MIN_DIFFERENCE:g}. An "
            "effect relative to so small a difference would mean nothing."
        )
    elif translates_change:
        description += "This step translates the changed word itself, so a difference is no surprise."
    example = next((each for each in PAIRS if {each.a, each.b} == {pair.a.source_text, pair.b.source_text}), None)
    if (contrasts.is_close or translates_change) and example is not None and example.word:
        runs, texts = pair.reading.runs, (pair.a.source_text, pair.b.source_text)
        description += " " + describe_translations(example, *(runs.get(TraceRun(text)) for text in texts))
    elif translates_change:
        description += " The list of steps shows how much A and B differ at the other steps."
    return description


def grid_unit(contrasts: Contrasts) -> str:
    """Return the label of the grid's values: relative effects, or nats if the two sentences differ too little."""
    return "change, nats" if contrasts.is_close else "effect"
