"""Guessing game: the user bets on the word whose removal changes the translation most, then sees each method's pick."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.bets.offer import show_bet
from pages.ui.charts.matrix import AXIS, labelled_axis
from pages.ui.charts.palette import FIRST, MASKED, SECOND
from pages.ui.charts.tables import show_table
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.params.bets import BetParams
from pages.ui.params.what_mattered import MatteredParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.what_mattered.export import save_buttons
from pages.ui.what_mattered.methods import has_scores, title
from pages.ui.what_mattered.missing_word import MIN_WORDS, QUESTION_TEXT
from pages.ui.what_mattered.question import is_long, label_markdown, source_columns
from pages.ui.what_mattered.words import show_slow_choice
from transformer.analysis.words import Group
from transformer.attribution.attribution import METHODS, Attribution, Method, whole_sentence
from transformer.errors import TextError
from transformer.running.runs.attribution import AttributionRun
from transformer.running.runs.trace import TraceRun
from transformer.values.trace import Trace

PAGE, USER = "what_mattered", "you"
QUESTION = f"**{QUESTION_TEXT}**"
# Widths in pixels of the columns whose text wraps, so that all columns fit on a projector.
WIDTHS = {"named by": 180, "typed without it, the model writes": 210}


@dataclass(frozen=True)
class Retyping:
    """The result of retyping the sentence without one word.

    Attributes:
        text: the sentence without the word.
        translation: the model's own translation of the shortened sentence.
        fall: the decrease in the original translation's log-probability, in nats; None if nothing is left to translate.
    """

    text: str
    translation: str
    fall: float | None


def show_guess(reading: Reading) -> None:
    """Show the bet; after the user has answered, compare the answer with the words that the methods pick."""
    trace = reading.trace
    groups, labels, ranked = source_columns(trace, words=True)
    st.markdown("Bet first. Then every method picks a word, and you see what the model writes without that word.")
    if len(ranked) < MIN_WORDS:
        st.info("To guess, you need a sentence of at least two words.")
        return
    params, answer = session.params(MatteredParams), session.params(BetParams).on(PAGE)
    with main_figure(QUESTION, markdown(trace.source_text), when=not answer):
        choice = show_bet(PAGE, reading, opened=True)
    show_slow_choice(reading)
    if not answer:
        return
    later = is_long(trace) and not params.slow
    methods: list[Method] = [
        method for method, entry in METHODS.items() if entry.measured or not (later and entry.slow)
    ]
    targets = (whole_sentence(trace),)
    runs = {method: AttributionRun(reading.run, method, targets, words=True) for method in methods}
    experiment, attributions = embed_experiment(reading.runs, **runs), [*map(reading.runs.get, runs.values())]
    guessed = None if choice is None else ranked[choice]
    answers = named_by(attributions, ranked, guessed)
    costs = next(attribution for attribution in attributions if attribution.method == "erasure").source[0]
    typed = {column: _retype_without(reading, groups[column]) for column in answers}
    table = answer_table(answers, labels, costs, ranked, typed)
    st.markdown(describe_winner(answers, labels, costs, ranked, typed), help=explain("log-probability", "nats"))
    show_table(table, "mattered_answers", digits=2, wrapped=WIDTHS)
    with main_figure(QUESTION, describe_winner(answers, labels, costs, ranked, typed).partition(":")[0]):
        show_altair(
            decrease_chart(costs, ranked, labels, guessed),
            key="mattered_falls",
            alt=f"For every {reading.languages.source.name} word, a bar shows how much the translation's "
            "log-probability falls when the word is hidden.",
        )
    st.caption(
        "The numbers come from two experiments. In the first, the word is *hidden* from all other words in every "
        "layer, but keeps its position. Erasure measures exactly this, so erasure picks the winner by definition. In "
        "the second, the sentence is *typed* again without the word; this is done only for words that you or a method "
        "picked. Both experiments measure how much less likely the original translation becomes.",
        help=explain("log-probability", "nats"),
    )
    save_buttons(
        reading,
        experiment,
        None,
        table,
        "which_word",
        hidden=pd.DataFrame(
            {
                "number": [column + 1 for column in ranked],
                "word": [labels[column] for column in ranked],
                "falls by": [float(costs[column]) for column in ranked],
                "unit": "nats",
            }
        ),
    )


def named_by(attributions: Sequence[Attribution], ranked: Sequence[int], guessed: int | None) -> dict[int, list[str]]:
    """Return the source columns that the user or a method picked, each with the names of those that picked it."""
    answers: dict[int, list[str]] = {} if guessed is None else {guessed: [USER]}
    for attribution in attributions:
        if has_scores(attribution):
            best = max(ranked, key=lambda column: attribution.source[0][column])
            answers.setdefault(best, []).append(title(attribution.method))
    return answers


def answer_table(
    answers: Mapping[int, Sequence[str]],
    labels: Sequence[str],
    costs: np.ndarray,
    ranked: Sequence[int],
    typed: Mapping[int, Retyping],
) -> pd.DataFrame:
    """Return a table with one row per picked word, largest decrease in log-probability first."""
    places = _ranks(costs, ranked)
    return pd.DataFrame(
        [
            {
                "word": labels[column],
                "named by": ", ".join(answers[column]),
                "hidden: falls by, nats": float(costs[column]),
                "place": f"{places[column]} of {len(ranked)}",
                "typed without it, the model writes": typed[column].translation,
                "typed: falls by, nats": np.nan if typed[column].fall is None else typed[column].fall,
            }
            for column in sorted(answers, key=lambda column: places[column])
        ]
    )


def describe_winner(
    answers: Mapping[int, Sequence[str]],
    labels: Sequence[str],
    costs: np.ndarray,
    ranked: Sequence[int],
    typed: Mapping[int, Retyping],
) -> str:
    """Return Markdown that names the right word and the methods that picked it, and gives the rank of the user's word.

    The Markdown also names the picked word that costs most when the sentence is retyped without it.
    """
    places = _ranks(costs, ranked)
    best = min(places, key=lambda column: places[column])
    right = [name for name in answers.get(best, ()) if name != USER]
    parts = [
        f"When **{label_markdown(labels[best])}** is hidden, the translation changes most: its log-probability falls "
        "by "
        f"{costs[best]:.2f} nats. {', '.join(right) or 'No method'} picked this word."
    ]
    guessed = next((column for column, names in answers.items() if USER in names), None)
    if guessed is not None and guessed != best:
        parts.append(
            f"Your word, **{label_markdown(labels[guessed])}**, is number {places[guessed]} of {len(ranked)} "
            f"({costs[guessed]:.2f} nats)."
        )
    falls = {column: each.fall for column, each in typed.items() if each.fall is not None}
    if falls:
        worst = max(falls, key=lambda column: falls[column])
        parts.append(
            f"Among the picked words, **{label_markdown(labels[worst])}** costs most when the sentence is retyped "
            f"without it: {falls[worst]:.2f} nats."
        )
    return " ".join(parts)


def decrease_chart(costs: np.ndarray, ranked: Sequence[int], labels: Sequence[str], guessed: int | None) -> alt.Chart:
    """Return a bar chart with one bar per word, largest decrease first.

    The user's word has its own colour, and so do words that can be hidden without lowering the log-probability.
    """
    order = sorted(ranked, key=lambda column: -costs[column])
    table = pd.DataFrame(
        {
            "at": range(1, len(order) + 1),
            "word": [labels[column] for column in order],
            "fall": [float(costs[column]) for column in order],
            "ink": [SECOND if column == guessed else FIRST if costs[column] > 0 else MASKED for column in order],
        }
    )
    axis, names = labelled_axis("word_labels", table.word.tolist(), labelLimit=140)
    return (
        alt.Chart(table)
        .mark_bar()
        .encode(
            y=alt.Y("at:O", title=None, axis=axis),
            x=alt.X(
                "fall:Q",
                title="fall in log-probability when the word is hidden (nats)",
                axis=alt.Axis(tickCount=7, **{**AXIS, "grid": True}),
            ),
            color=alt.Color("ink:N", scale=None),
            tooltip=["word:N", alt.Tooltip("fall:Q", format=".3f")],
        )
        .add_params(names)
        .properties(height=70 + 24 * len(order), usermeta={"embedOptions": {"renderer": "svg"}})
    )


def text_without(trace: Trace, group: Group) -> str:
    """Return the sentence without the word whose token positions are in `group`."""
    spans = [token.span for token in (trace.source_tokens[position] for position in group) if token.span is not None]
    return " ".join((trace.source_text[: spans[0][0]] + " " + trace.source_text[spans[-1][1] :]).split())


def _retype_without(reading: Reading, group: Group) -> Retyping:
    text, before = text_without(reading.trace, group), reading.trace
    try:
        retyped = reading.runs.get(TraceRun(text))
        again = reading.runs.get(TraceRun(text, before.target_text))
    except TextError:
        return Retyping(text, "", None)
    return Retyping(text, retyped.target_text, float(before.log_probs.sum() - again.log_probs.sum()))


def _ranks(costs: np.ndarray, ranked: Sequence[int]) -> dict[int, int]:
    order = sorted(ranked, key=lambda column: -costs[column])
    return {column: place for place, column in enumerate(order, start=1)}
