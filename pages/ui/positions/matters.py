"""Does the order matter? The typed sentence shuffled, and read with the positions switched off."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import inference, state
from pages.ui.browser import TITLES
from pages.ui.figures import cells, matrix
from pages.ui.inside.selection import choose_head
from pages.ui.labels import column_labels, row_labels, titles
from pages.ui.numbers import show_numbers, show_table
from pages.ui.plain import markdown
from pages.ui.positions.encoding import Encoding
from pages.ui.positions.order import Shuffle, moved_pieces, shuffle
from pages.ui.sentence import Reading
from transformer.analysis.view import view_of
from transformer.analysis.words import word_groups
from transformer.errors import AtlasError, TextError
from transformer.options import AS_TRAINED, RunOptions
from transformer.trace import Trace
from transformer.translator import Translator

WITHOUT = RunOptions(positions=False)


@dataclass(frozen=True, eq=False)
class Run:
    """One way to read the sentence.

    Attributes:
        name: what is different.
        own: the translation that this run writes.
        first: this run reading the translation of the undisturbed model; None if that one cannot be read.
    """

    name: str
    own: Trace
    first: Trace | None


def show_matters(reading: Reading) -> None:
    """The table of runs, the attention of one head in each, and the proof that without positions order is lost."""
    model, text = reading.translator, reading.own.source_text
    encoding = state.own(Encoding)
    st.number_input("Shuffle, number", width=200, **state.bounded(Encoding, "shuffle"))
    mixed = shuffle(text, encoding.shuffle)
    settings = [("as typed, with positions", text, AS_TRAINED), ("as typed, positions switched off", text, WITHOUT)]
    if mixed is None:
        st.info("There is only one order of these words: type a sentence with two different ones to shuffle it.")
    else:
        settings[1:1] = [("shuffled, with positions", mixed.text, AS_TRAINED)]
        settings.append(("shuffled, positions switched off", mixed.text, WITHOUT))
    try:
        runs = [_run(model, *setting, reading.own.target_text) for setting in settings]
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        return
    show_table(run_table(runs), "positions_runs", digits=2)
    st.markdown(_what_changed(runs))
    if mixed is not None:
        st.markdown(_bag_of_words(runs, mixed))
    _attention(runs)


def _run(model: Translator, name: str, text: str, options: RunOptions, target: str) -> Run:
    def traced(target: str) -> Trace:
        return inference.varied(model, model.version, model.device, text, target, options)

    own = traced("")
    try:
        # Nothing at all, and a translation at the limit on length, cannot be read again.
        return Run(name, own, traced(target) if target.strip() else None)
    except TextError:
        return Run(name, own, None)


def run_table(runs: list[Run]) -> pd.DataFrame:
    """A row a run: what was read and written, and how likely the model finds that and the first translation."""
    table = pd.DataFrame({
        "read": [run.name for run in runs],
        "sentence": [run.own.source_text for run in runs],
        "translation": [run.own.target_text for run in runs],
        "its log-prob., nats": [float(run.own.log_probs.sum()) for run in runs],
        "a piece": [float(run.own.log_probs.mean()) for run in runs],
    })
    if all(run.first is not None for run in runs):
        table["the first’s, nats"] = [float(run.first.log_probs.sum()) for run in runs]
    return table


def _what_changed(runs: list[Run]) -> str:
    """Markdown, from the numbers shown."""
    changed = [run.name for run in runs[1:] if run.own.target_text != runs[0].own.target_text]
    sentences = [
        f"**{len(changed)} of {len(runs) - 1}** changes give another translation." if changed
        else "None of the changes gives another translation: these words say enough without their order."
    ]
    if all(run.first is not None for run in runs):
        before, *after = (float(run.first.log_probs.sum()) for run in runs)
        worst = int(np.argmin(after))
        sentences.append(
            f"The first translation has the log-probability {before:.2f} nats; **{runs[worst + 1].name}** it has "
            f"**{after[worst]:.2f}**, so the model finds it e^{before - after[worst]:.1f} times less likely."
            if after[worst] < before else "None of the changes makes the first translation less likely."
        )
    sentences.append(
        "The switch is an argument of the run: nothing in the model changes, and the model was never trained without "
        "positions, so what it writes then is not what a model trained that way would write."
    )
    return " ".join(sentences)


def _bag_of_words(runs: list[Run], mixed: Shuffle) -> str:
    """Markdown: with and without positions, whether the encoder noticed the shuffle."""
    typed, shuffled, typed_without, shuffled_without = (run.own for run in runs)
    moved = moved_pieces(typed.source_pieces, shuffled.source_pieces, word_groups(typed.source_pieces), mixed.order)
    if moved is None:
        return "The shuffled words are cut into other pieces, so their attention cannot be compared piece by piece."
    with_positions, without = (
        float(np.abs(one.encoder[:, :, moved][..., moved] - other.encoder).max())
        for one, other in ((typed, shuffled), (typed_without, shuffled_without))
    )
    return (
        "**Without positions a sentence is a bag of words:** put back into order, the encoder's attention to the "
        f"shuffled sentence differs by at most **{without:.1e}** in any of its cells, which is rounding. With "
        f"positions it differs by up to **{with_positions:.2f}**."
    )


def _attention(runs: list[Run]) -> None:
    """The map of one head in every run."""
    first = runs[0].own
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Attention before and after", TITLES, format_func=TITLES.get, required=True,
            **state.held(Encoding, "kind"),
        )
        choice = choose_head(first, state.own(Encoding).kind, Encoding.PREFIX)
    shown = state.own(Encoding).kind
    places = [*st.columns(2, gap="medium"), *st.columns(2, gap="medium")]
    for number, (place, run) in enumerate(zip(places, runs, strict=False)):
        view = view_of(run.own, shown)
        with place:
            st.markdown(f"**{run.name.capitalize()}**")
            st.altair_chart(
                matrix(
                    view.weights[choice.layer, choice.head], row_labels(view.axes), column_labels(view.axes),
                    name="weight", scale=alt.Scale(domain=[0, 1], scheme="viridis"), titles=titles(False),
                    mask=view.mask,
                ),
                key=f"positions_attention_{number}", width="stretch",
                alt=f"{TITLES[shown]}, layer {choice.layer + 1}, head {choice.head + 1}, {run.name}.",
            )
            show_numbers(cells(view, choice.layer, choice.head), f"positions_attention_numbers_{number}")
