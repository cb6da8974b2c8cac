"""First part of the "What mattered" page: the scores of all attribution methods for the chosen word."""

import streamlit as st

from pages.ui.charts.tables import show_numbers, show_table
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.params.what_mattered import MatteredParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind, setting
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.what_mattered.export import save_buttons
from pages.ui.what_mattered.methods import title
from pages.ui.what_mattered.picker import pick_question
from pages.ui.what_mattered.question import AttributionQuestion, is_long
from pages.ui.what_mattered.strip import (
    columns_of,
    compact_sums,
    describe_first_words,
    describe_hiding,
    part_chart,
    part_table,
    strip_chart,
    strip_table,
    sum_table,
)
from transformer.attribution.attribution import METHODS, Attribution, Method
from transformer.experiments.experiment import Experiment
from transformer.running.runs.attribution import AttributionRun


def attributions(reading: Reading, question: AttributionQuestion) -> tuple[Experiment, list[Attribution]]:
    """Return the experiment to save with figures, and the results of all applicable methods.

    For a long sentence, slow methods are included only if the user has asked for them.
    """
    runs = {
        method: AttributionRun(reading.run, method, (question.target,), question.words)
        for method in applicable_methods(reading, question)
    }
    return embed_experiment(reading.runs, **runs), [*map(reading.runs.get, runs.values())]


def applicable_methods(reading: Reading, question: AttributionQuestion) -> list[Method]:
    """Return the methods that can answer a question. For a long sentence, slow methods are included only on request."""
    later = is_long(reading.trace) and not session.params(MatteredParams).slow
    return [
        method
        for method, properties in METHODS.items()
        if (properties.contrastive or not question.other) and not (later and properties.slow)
    ]


def show_slow_choice(reading: Reading) -> None:
    """Show a toggle for the slow methods if the sentence is long."""
    if is_long(reading.trace):
        st.toggle(
            "Include integrated gradients and erasure",
            help="These methods run the model many times, which takes a few seconds for a sentence this long.",
            **bind(MatteredParams, "slow"),
        )


def show_words(reading: Reading) -> None:
    """Show a description and a chart of the scores, then a table of their sums and a chart of the logit's terms."""
    question = pick_question(reading)
    show_slow_choice(reading)
    experiment, answers = attributions(reading, question)
    languages = question.languages
    source, target = (language.name for language in languages)
    st.markdown(
        f"{question.explained[0].upper()}{question.explained[1:]}: {describe_first_words(question, answers)} "
        f"{describe_hiding(question, answers)}",
        help=explain("log-probability", "nats"),
    )
    table = strip_table(question, answers)
    with main_figure(
        f"What mattered for {question.explained}? {markdown(reading.trace.source_text)}",
        describe_first_words(question, answers).partition(";")[0],
    ):
        show_altair(
            lambda large: strip_chart(question, answers, table, large=large),
            key="mattered_strip",
            alt=f"Each row is a method. Each column is a {source} word or, to the right of the line, a {target} word "
            "already written. The table below has the numbers.",
        )
    st.button(
        "Is attention an explanation? “Do the methods agree?” shows what you may conclude.",
        key="mattered_agree",
        type="tertiary",
        icon=":material/arrow_forward:",
        **setting(MatteredParams, part="agreement"),
    )
    st.caption(_describe_strip(question))
    sums, parts = st.columns([8, 5], gap="large")
    with sums:
        st.markdown("**What each row adds up to**")
        show_table(compact_sums(sum_table(answers, languages), languages), "mattered_sums", digits=2)
        st.caption(
            "Attention weights add up to 1 over the source words, and again over the words written so far; so do "
            "vector norms. Frozen gradients add up to the logit only together with the rest: positions and biases, "
            "which belong to no word. Integrated gradients add up to the increase in the log-probability over "
            "embeddings of 0. A small error remains, because the integral is approximated in a limited number of "
            "steps. Erasure scores need not add up to anything: if two words mean the same, either can be hidden "
            "without harm.",
            help=explain("logit", "log-probability", "nats"),
        )
    with parts:
        exact = next(answer for answer in answers if answer.method == "frozen_gradient")
        what = (
            "difference between the logits"
            if question.other
            else ("logit" if len(question.target.positions) == 1 else "sum of the logits")
        )
        st.markdown(f"**Every term of the {what}**, according to frozen gradients")
        show_altair(
            part_chart(part_table(exact, languages), what, float(exact.total[0])),
            key="mattered_parts",
            alt=f"A bar for every term of the {what}, including the biases; the table next to the chart has the sums.",
        )
    numbers = columns_of(table, "method", "unit", "side", "number", "word", "score")
    show_numbers(numbers, "mattered_numbers", digits=4)
    save_buttons(reading, experiment, question, numbers, "what_mattered", sums=sum_table(answers, languages))
    with st.expander("What each method does"):
        st.markdown(
            "\n".join(f"- **{each.title}**: {each.text} Compared with: {each.baseline}." for each in METHODS.values())
        )


def _describe_strip(question: AttributionQuestion) -> str:
    source, target = (language.name for language in question.languages)
    sentences = [
        f"Left of the line is the {source} sentence; right of it, the {target} {question.size}s that the model had "
        "already written. Each row has its own unit, and its colours are relative to its own largest number: compare "
        f"{question.size}s within a row, never between rows. A frame marks the {question.source_size} that the method "
        f"puts first. Red supports {'the word' if question.name else 'the translation'}; blue counts against it. A "
        "grey cell in the erasure row marks the token just read, which cannot be hidden from the step that reads it."
    ]
    if question.other:
        missing = [title(method) for method, properties in METHODS.items() if not properties.contrastive]
        sentences.append(
            f"Left out: {', '.join(missing)}. These methods give every candidate the same scores, so they cannot say "
            "why the model preferred one to another."
        )
    return " ".join(sentences)
