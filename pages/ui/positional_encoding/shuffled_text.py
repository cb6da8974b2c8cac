"""Tests whether word order matters: shuffles the user's sentence, and switches positional encoding off."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES, column_labels, row_labels, titles
from pages.ui.charts.matrix import cells, matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import show_numbers
from pages.ui.components.save_as import show_altair, show_figure_table
from pages.ui.heads.head_picker import pick_head
from pages.ui.layout.roles import main_figure
from pages.ui.params.positional_encoding import PositionsParams
from pages.ui.positional_encoding.shuffle import Shuffle, moved_tokens, shuffle
from pages.ui.reading.sentence import Reading
from pages.ui.reading.translation import EMPTY_TRANSLATION
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.state.bind import bind_number, segments
from pages.ui.text.differences import marked_words
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from transformer.analysis.view import view_of
from transformer.analysis.words import word_groups
from transformer.errors import AtlasError, TextError
from transformer.running.runs.trace import TraceRun
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace

# A ratio of probabilities is shown as a power of ten if its logarithm, in nats, is at least this large.
MAX_WRITTEN_RATIO = math.log(10_000)
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
NO_POSITIONS = Interventions(positions=False)
# Text columns of the table, with widths in pixels; longer texts wrap, so that they are shown in full.
WIDTHS = {"setting": 150, "sentence": 350, "translation": 350}


@dataclass(frozen=True, eq=False)
class ShuffledRun:
    """A model run on the sentence, with or without shuffled words, and with or without positional encoding.

    Attributes:
        name: a description of the setting, such as "shuffled, with positions".
        own: the trace with the model's own translation in this setting.
        first: the trace in this setting with the original translation; None if the model cannot read that translation.
    """

    name: str
    own: Trace
    first: Trace | None


def show_shuffled(reading: Reading) -> None:
    """Show the translations and one head's attention maps, and check that word order is lost without positions."""
    st.markdown(
        "**What if word order is lost?** Attention has no built-in word order, so a positional encoding is added to "
        "each token. Below, the model reads your sentence, then the same words shuffled, then both again without "
        "position information."
    )
    text = reading.own.source_text
    encoding = session.params(PositionsParams)
    st.number_input("Which shuffle", width=200, **bind_number(PositionsParams, "shuffle"))
    mixed = shuffle(text, encoding.shuffle)
    settings = [
        ("as typed, with positions", text, AS_TRAINED),
        ("as typed, positions switched off", text, NO_POSITIONS),
    ]
    if mixed is None:
        st.info("These words have only one order. To shuffle a sentence, type one with at least two different words.")
    else:
        settings[1:1] = [("shuffled, with positions", mixed.text, AS_TRAINED)]
        settings.append(("shuffled, positions switched off", mixed.text, NO_POSITIONS))
    try:
        runs = [_run(reading.runs, *setting, reading.own.target_text) for setting in settings]
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        return
    with main_figure("**What if word order is lost?** What the model writes; new words are marked"):
        table = run_table(runs)
        show_figure_table(table.filter(list(WIDTHS)), "positions_runs", wrapped=WIDTHS, words=new_words(runs))
        show_numbers(table.drop(columns=["sentence", "translation"]), "positions_run_numbers", digits=2)
    st.markdown(_describe_changes(runs))
    if mixed is not None:
        st.markdown(_describe_bag_of_words(runs, mixed))
    _show_attention(reading, runs)


def _run(model: CachedRuns, name: str, text: str, interventions: Interventions, target: str) -> ShuffledRun:
    def traced(target: str | None = None) -> Trace:
        return model.get(TraceRun(text, target, interventions=interventions))

    own_trace = traced()
    try:
        # A translation cannot be given to the model if it is empty or was cut off at the length limit.
        return ShuffledRun(name, own_trace, traced(target) if target.strip() else None)
    except TextError:
        return ShuffledRun(name, own_trace, None)


def _first_log_probs(runs: list[ShuffledRun]) -> list[float]:
    """Return the original translation's log-probability in each run; empty if any run cannot read that translation."""
    firsts = [float(run.first.log_probs.sum()) for run in runs if run.first is not None]
    return firsts if len(firsts) == len(runs) else []


def run_table(runs: list[ShuffledRun]) -> pd.DataFrame:
    """Return a table with one row per run.

    The columns include the text that was read, the translation, its log-probability, and the log-probability of the
    original translation.
    """
    table = pd.DataFrame(
        {
            "setting": [run.name for run in runs],
            "sentence": [run.own.source_text for run in runs],
            "translation": [run.own.target_text for run in runs],
            "log-probability": [float(run.own.log_probs.sum()) for run in runs],
            "per token": [float(run.own.log_probs.mean()) for run in runs],
        }
    )
    firsts = _first_log_probs(runs)
    if firsts:
        table["log-probability of the original translation"] = firsts
    return table


def new_words(runs: list[ShuffledRun]) -> str:
    """Return a Markdown table of the translations, in which words missing from the original translation are marked.

    The table has one column per word order, one row with positional encoding and one row without.
    """
    orders = list(dict.fromkeys(run.own.source_text for run in runs))
    first = runs[0].own.target_text

    def written(order: str, positions: bool) -> str:
        (run,) = (run for run in runs if (run.own.source_text, run.own.interventions.positions) == (order, positions))
        return marked_words(first, run.own.target_text)[1] or EMPTY_TRANSLATION

    rows = [("", *map(markdown, orders)), ("---",) * (len(orders) + 1)] + [
        (f"**{name}**", *(written(order, positions) for order in orders))
        for name, positions in (("with positions", True), ("positions off", False))
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _describe_changes(runs: list[ShuffledRun]) -> str:
    """Return Markdown that describes how the translations and the original translation's log-probability change."""
    changed = [run.name for run in runs[1:] if run.own.target_text != runs[0].own.target_text]
    sentences = [
        f"**{len(changed)} of {len(runs) - 1}** changes lead to a different translation."
        if changed
        else "None of the changes leads to a different translation: here, the words are enough without their order."
    ]
    firsts = _first_log_probs(runs)
    if firsts:
        before, *after = firsts
        worst = int(np.argmin(after))
        sentences.append(
            f"The original translation has a log-probability of {typeset(before)} nats. With the sentence "
            f"**{runs[worst + 1].name}**, it has **{typeset(after[worst])}** nats, so the model finds this translation "
            f"{describe_ratio(before - after[worst])} less likely."
            if after[worst] < before
            else "None of the changes makes the original translation less likely."
        )
    sentences.append(
        "The model itself is unchanged, and never learned to do without positions: a model trained without them would "
        "behave differently."
    )
    return " ".join(sentences)


def describe_ratio(nats: float) -> str:
    """Convert a difference between log-probabilities, in nats, to text such as "3.2 times" or "about 10⁵ times"."""
    if nats < MAX_WRITTEN_RATIO:
        return f"{math.exp(nats):.1f} times"
    return f"about 10{str(round(nats / math.log(10))).translate(SUPERSCRIPT)} times"


def _describe_bag_of_words(runs: list[ShuffledRun], mixed: Shuffle) -> str:
    """Return Markdown that says how far shuffling changes encoder attention, with and without positional encoding."""
    typed, shuffled, typed_without, shuffled_without = (run.own for run in runs)
    words = word_groups(typed.source_tokens, typed.source_text)
    moved = moved_tokens(typed.source_tokens, shuffled.source_tokens, words, mixed.order)
    if moved is None:
        return (
            "The shuffled words are split into different tokens, so the attention of the two runs cannot be compared."
        )
    with_positions, without = (
        float(np.abs(one.encoder[:, :, moved][..., moved] - other.encoder).max())
        for one, other in ((typed, shuffled), (typed_without, shuffled_without))
    )
    return (
        "**Without positions, a sentence is a bag of words.** Once the shuffled words are back in order, the encoder's "
        f"attention differs from the original by at most **{typeset(without, '.1e')}** in any cell. That is a rounding "
        f"error. With positions, the attention differs by up to **{with_positions:.2f}**."
    )


def _show_attention(reading: Reading, runs: list[ShuffledRun]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        segments("Attention in every setting", TITLES, PositionsParams, "kind")
        choice = pick_head(reading, session.params(PositionsParams).kind, PositionsParams.PREFIX)
    kind = session.params(PositionsParams).kind
    places = [*st.columns(2, gap="medium"), *st.columns(2, gap="medium")]
    for number, (place, run) in enumerate(zip(places, runs, strict=False)):
        view = view_of(run.own, kind)
        with place:
            st.markdown(f"**{run.name.capitalize()}**")
            show_altair(
                matrix(
                    view.weights[choice.layer, choice.head],
                    row_labels(view.axes),
                    column_labels(view.axes),
                    name="weight",
                    scale=sequential(),
                    titles=titles(False),
                    mask=view.mask,
                ),
                key=f"positions_attention_{number}",
                alt=f"{TITLES[kind]}, layer {choice.layer + 1}, head {choice.head + 1}, {run.name}.",
            )
            show_numbers(cells(view, choice.layer, choice.head), f"positions_attention_numbers_{number}")
