"""The figure of a step: the app's own, pinned to what the lesson is about."""

from __future__ import annotations

from io import StringIO

import altair as alt
import pandas as pd
import streamlit as st

from pages.ui.about.learning_curve import LOSS, QUALITY, learning_chart
from pages.ui.charts.matrix import AXIS, LEGEND, labelled_axis
from pages.ui.charts.palette import FIRST, SECOND
from pages.ui.charts.tables import numbered, show_hall_table, show_numbers, show_table
from pages.ui.components.attention_browser import browser_payload, draw_browser, sentence_id
from pages.ui.components.save_as import show_altair
from pages.ui.components.side_by_side import Map, side_by_side
from pages.ui.components.synced_state import SyncedState
from pages.ui.lecture.figure import presented
from pages.ui.lessons.measured import MeasuredStep
from pages.ui.lessons.tables import figure_table, without_maps
from pages.ui.params.attention import AttentionParams
from pages.ui.runs import inference
from transformer.lessons.result import opened_head
from transformer.running.translator import Translator

# Figures that hold the number that is asked for: they come with the answer.
AFTER = ("scores", "example", "candidates", "probabilities", "translations", "norms", "learning", "worth", "removed",
         "needed")
# Columns of sentences, and how wide they are, pixels, so that a projector shows the numbers behind them.
LONG, TEXT = ("translation",), 240
# The lesson and the step that a map was asked to show, and whether with the answer.
SYNCED: SyncedState[tuple[str, int, bool]] = SyncedState("_lesson_map")
BARS = {"candidates": "next piece", "probabilities": "piece written", "norms": "looked at"}


def first_choice(measured: MeasuredStep, *, solved: bool) -> AttentionParams:
    """What the map of a step shows first.

    Args:
        solved: what the reader was asked to do is done already.
    """
    step, evidence = measured.step, measured.evidence
    kind = step.figure["kind"]
    layer, head = (
        opened_head(step, measured.finding, evidence) if solved else evidence.head(kind, step.figure["head"])
    )
    rows: tuple[int, ...] = ()
    if "row" in step.figure and (solved or step.next_when != "row pinned"):
        rows = pinned_row(measured, (layer, head))
    return AttentionParams(layer=layer, head=head, words=True, rows=rows)


def pinned_row(measured: MeasuredStep, at: tuple[int, int]) -> tuple[int, ...]:
    """Positions of the row that the figure names, for a head that it is read in."""
    kind = measured.step.figure["kind"]
    row = measured.evidence.row(kind, measured.step.figure["row"], at)
    return measured.evidence.view(kind).axes.row_positions[row]


def chosen_in_map(measured: MeasuredStep, opened: tuple[str, int]) -> AttentionParams | None:
    """What the reader chose in the map of a step that is not done, since it was opened; None before.

    Args:
        opened: the lesson and the step.
    """
    sent = st.session_state.get(_key(measured), {}).get("choice")
    now = sentence_id(measured.evidence.trace()), _request_number(measured, (*opened, False))
    # What was chosen in the map of another step, or before this one was opened again, is none in this one.
    if not isinstance(sent, dict) or (sent.get("id"), sent.get("request")) != now:
        return None
    return AttentionParams.from_browser(sent)


def show_map(measured: MeasuredStep, translator: Translator, opened: tuple[str, int], *, done: bool) -> None:
    """Draw the attention browser; what the reader chooses in it stays until the step is done or another one is opened.

    Args:
        opened: the lesson and the step.
        done: the answer is shown, so the map shows what it is about, and may say so in words.
    """
    step, trace = measured.step, measured.evidence.trace()
    draw_browser(
        key=_key(measured), width="stretch", on_choice_change=lambda: None,
        data=browser_payload(
            trace, inference.metrics(translator, trace.source_text, "", step.figure["kind"]),
            first_choice(measured, solved=done), number=_request_number(measured, (*opened, done)),
            quiet=bool(step.question) and not done, lecture="figure" if presented() else "",
        ),
    )


def _request_number(measured: MeasuredStep, shown: tuple[str, int, bool]) -> int:
    """Of the request that the map is drawn for: a new one whenever a step is opened, also once more, or done."""
    # Streamlit forgets what was chosen in a map that a run has not drawn; the browser does not.
    stays = SYNCED.shown == shown and _key(measured) in st.session_state
    return SYNCED.request(shown, new=not stays).number


def _key(measured: MeasuredStep) -> str:
    return f"lesson_{measured.step.figure['kind']}"


def show_without(measured: MeasuredStep, *, done: bool) -> None:
    """Two maps side by side: as trained, and without a part; the second comes with the answer."""
    maps = [
        Map(title, rows, columns, values, mask)
        for title, rows, columns, values, mask in without_maps(measured.evidence, **measured.step.figure)
    ]
    side_by_side(maps if done else maps[:1], "lesson_without", sentence="")


def show_learning(curve: str) -> None:
    """The learning curve: loss, and quality of the translations."""
    table = pd.read_csv(StringIO(curve))
    for lines, unit, name in ((LOSS, "loss, nats a piece", "loss"), (QUALITY, "chrF, 0 to 100", "chrf")):
        show_altair(
            learning_chart(table, lines, unit), key=f"lesson_{name}",
            alt=f"{unit} over the steps of training.", sentence="",
        )


def show_table_figure(measured: MeasuredStep) -> None:
    """A table, or bars with their table below."""
    table = figure_table(measured)
    assert table is not None, "the figure has a table"
    place = BARS.get(measured.step.show)
    if place is None:
        if presented():
            show_hall_table(table, digits=3)
        else:
            show_table(table, "lesson_table", digits=3, wrapped={name: TEXT for name in table if name in LONG})
        return
    show_altair(
        bars(table, place), key="lesson_bars",
        alt=f"{', '.join(table.columns[1:])} of each {place}; the table has the numbers.", sentence="",
    )
    if not presented():
        show_numbers(table, "lesson_numbers", digits=3)


def bars(table: pd.DataFrame, place: str) -> alt.Chart:
    """Bars from 0 to 1, in the order of the table; equal labels stay apart.

    Args:
        table: a column of labels, and one or two of shares.
        place: the column of labels.
    """
    series = list(table.columns[1:])
    long = table.assign(at=range(1, len(table) + 1)).melt(["at", place], series, "of", "value")
    axis, names = labelled_axis("bar_labels", numbered(table[place].tolist()), labelLimit=170)
    colours = alt.Scale(domain=series, range=[FIRST, SECOND][: len(series)])
    legend = alt.Legend(title=None, columns=1, **LEGEND) if len(series) > 1 else None
    return alt.Chart(long).mark_bar().encode(
        x=alt.X("value:Q", title=None if legend else series[0], axis=alt.Axis(format="%", tickCount=5, **AXIS)),
        y=alt.Y("at:O", title=None, axis=axis),
        yOffset=alt.YOffset("of:N", sort=series) if legend else alt.Undefined,
        color=alt.Color("of:N", scale=colours, legend=legend),
        tooltip=[f"{place}:N", "of:N", alt.Tooltip("value:Q", format=".1%")],
    ).add_params(names).properties(height=60 + (44 if legend else 30) * len(table))


def hidden(measured: MeasuredStep, *, done: bool) -> bool:
    """Whether the figure waits for the answer."""
    return measured.step.show in AFTER and bool(measured.step.question) and not done

