"""Draws the figure of a step: one of the app's own figures, set to the subject of the lesson."""

from __future__ import annotations

from io import StringIO

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.payload import browser_payload, sentence_id
from pages.ui.about.learning_curve import LOSS, QUALITY, learning_chart
from pages.ui.charts.tables import numbered, show_numbers, show_table
from pages.ui.components.attention_browser import draw_browser
from pages.ui.components.save_as import show_altair, show_figure_table
from pages.ui.components.side_by_side import DIFFERENCE, Map, side_by_side
from pages.ui.components.synced_state import SyncedState
from pages.ui.layout.roles import aside
from pages.ui.lessons.charts import bars, costs, ranks, tiles, with_points
from pages.ui.lessons.measured import MeasuredStep
from pages.ui.lessons.tables import framed, table_of, totals_of, without_maps
from pages.ui.params.attention import AttentionParams
from pages.ui.text.markup import markdown
from transformer.lessons.evidence import JOBS
from transformer.lessons.result import opened_head
from transformer.lessons.tables import TABLES, Table
from transformer.running.runs.metrics import MetricsRun
from transformer.running.runs.trace import TraceRun

# Columns that contain sentences, and their width in pixels, which leaves room for the numbers on a projector.
LONG, TEXT = ("translation", "with positions", "without positions"), 240
# The lesson and step that the map last showed, and whether it showed the answer.
SYNCED: SyncedState[tuple[str, int, bool]] = SyncedState("_lesson_map")
BARS = ("candidates", "probabilities", "norms", "vectors")
TOTALS = "lesson_totals"
# Numbers of decimals; whole sentences have small probabilities.
DIGITS, FINE = 3, 4


def first_choice(measured: MeasuredStep, *, solved: bool) -> AttentionParams:
    """Return the head and the pins with which the map of a step opens.

    Args:
        solved: whether the user has already done the task.
    """
    step, evidence, figure = measured.step, measured.evidence, measured.figure
    kind = figure["kind"]
    layer, head = opened_head(step, measured.finding, evidence) if solved else evidence.head(kind, figure["head"])
    rows: tuple[int, ...] = ()
    if "row" in figure and (solved or step.next_when != "row pinned"):
        rows = pinned_row(measured, (layer, head))
    # The bars below the small maps reveal the head with the job, so they appear only with the answer.
    bars = ""
    if solved and "bars" in figure:
        # If this kind of attention lacks the job, this call raises an error, which the step shows.
        evidence.shares(kind, figure["bars"])
        bars = JOBS[figure["bars"]]
    return AttentionParams(layer=layer, head=head, words=True, rows=rows, metric=bars)


def pinned_row(measured: MeasuredStep, at: tuple[int, int]) -> tuple[int, ...]:
    """Return the positions of the row that the figure names, as resolved for the head at `at`."""
    kind = measured.figure["kind"]
    row = measured.evidence.row(kind, measured.figure["row"], at)
    return measured.evidence.view(kind).axes.row_positions[row]


def chosen_in_map(measured: MeasuredStep, opened: tuple[str, int]) -> AttentionParams | None:
    """Return the user's choice in the map of an unfinished step since the step was opened; None if there is none.

    Args:
        opened: the lesson and the step that are open.
    """
    sent = st.session_state.get(_key(measured), {}).get("choice")
    now = sentence_id(measured.evidence.trace()), _request_number(measured, (*opened, False))
    # Ignore a choice made in another step's map, or before this step was last opened.
    if not isinstance(sent, dict) or (sent.get("id"), sent.get("request")) != now:
        return None
    return AttentionParams.from_browser(sent)


def show_map(measured: MeasuredStep, opened: tuple[str, int], *, done: bool) -> None:
    """Draw the attention browser; the user's choice in it stays until the step is done or another one is opened.

    Args:
        opened: the lesson and the step that are open.
        done: whether the answer is shown; the map then shows its subject, and may describe it in words.
    """
    step, trace = measured.step, measured.evidence.trace()
    draw_browser(
        key=_key(measured),
        width="stretch",
        on_choice_change=lambda: None,
        data=browser_payload(
            trace,
            measured.evidence.runs.get(MetricsRun(TraceRun(trace.source_text), measured.figure["kind"])),
            vars(first_choice(measured, solved=done)),
            number=_request_number(measured, (*opened, done)),
            quiet=bool(step.question) and not done,
            beside=True,
        ),
    )


def _request_number(measured: MeasuredStep, shown: tuple[str, int, bool]) -> int:
    """Return the number of the request that draws the map; it changes whenever a step is opened, reopened or done."""
    # If a run did not draw the map, Streamlit forgets the choice in it, but the browser does not.
    stays = SYNCED.shown == shown and _key(measured) in st.session_state
    return SYNCED.request(shown, new=not stays).number


def _key(measured: MeasuredStep) -> str:
    return f"lesson_{measured.figure['kind']}"


def show_without(measured: MeasuredStep, *, done: bool) -> None:
    """Draw two maps side by side: the model as trained, and without a part; the second appears with the answer."""
    maps = [
        Map(title, rows, columns, values, mask)
        for title, rows, columns, values, mask in without_maps(measured.evidence, **measured.figure)
    ]
    side_by_side(maps if done else maps[:1], "lesson_without", sentence="")


def show_learning(curve: str, marked: pd.DataFrame) -> None:
    """Draw the learning curves: the loss, and the quality of the translations.

    Args:
        curve: the learning curve as CSV text.
        marked: the steps to mark, from the "learning" figure.
    """
    table = pd.read_csv(StringIO(curve))
    for lines, unit, name, said in (
        (LOSS, "loss, nats per token", "loss", lambda row: f"{row.loss:.2f}: 1 of {row.among:,.0f}"),
        (QUALITY, "chrF, 0 to 100", "chrf", lambda row: f"{row.chrF:.0f} after {row.part} of the steps"),
    ):
        points = marked.rename(columns={"as unsure as among": "among", "of all steps": "part"})
        points = points[points["loss" if name == "loss" else "chrF"].notna()]
        show_altair(
            with_points(
                learning_chart(table, lines, unit),
                pd.DataFrame(
                    {
                        "step": points.step,
                        "value": points["loss" if name == "loss" else "chrF"],
                        "says": [said(row) for row in points.itertuples()],
                    }
                ),
                last=int(table.step.max()),
            ),
            key=f"lesson_{name}",
            alt=f"{unit} over the steps of training.",
            sentence="",
        )


def show_values(table: Table) -> None:
    """Draw a table of each position's contribution to the sum, number by number."""
    frame = framed(table)
    columns = list(table.columns)
    values = frame[columns].to_numpy(dtype=np.float64)
    side_by_side(
        [
            Map(
                "",
                frame[table.head].tolist(),
                columns,
                values,
                np.ones_like(values, dtype=bool),
                scale=DIFFERENCE,
                measure="number",
                axes=(table.head, "number of the vector"),
            )
        ],
        "lesson_values",
        sentence="",
    )


def show_table_figure(measured: MeasuredStep) -> None:
    """Draw a line of counts, and below it a table, bars or tiles."""
    table = table_of(measured)
    assert table is not None, "the figure has a table"
    frame, show = framed(table), measured.step.show
    chart = _chart(show, table, frame)
    if totals := totals_of(table):
        st.container(key=TOTALS).markdown(markdown(totals))
    if show == "learning":
        show_learning(measured.evidence.curve(), frame)
    elif show == "values":
        show_values(table)
    elif chart is not None:
        show_altair(
            chart,
            key="lesson_bars",
            alt=f"{', '.join(table.columns)}, by {table.head}; the table has the numbers.",
            sentence="",
        )
    digits = FINE if show == "translations" else DIGITS
    wrapped = {name: TEXT for name in frame if name in LONG}
    if show == "learning":
        with aside("lesson_numbers"):
            show_table(frame, "lesson_table", digits=digits, wrapped=wrapped)
    elif chart is not None or show == "values":
        with aside("lesson_numbers"):
            show_numbers(frame, "lesson_numbers", digits=DIGITS)
    else:
        show_figure_table(frame, "lesson_table", digits=digits, wrapped=wrapped)


def _chart(show: str, table: Table, frame: pd.DataFrame) -> alt.LayerChart | None:
    """Return the chart of a figure; None for figures that are tables."""
    if table.across:
        return tiles(table)
    if show == "worth":
        return ranks(table)
    if show == "named":
        return costs(table)
    if show not in BARS:
        return None
    # Number tokens, so that equal ones stay separate; other labels are unique and not numbered.
    names = numbered(frame[table.head].tolist())
    labels = [str(label) if isinstance(label, str) else name for label, name in zip(table.labels, names, strict=True)]
    return bars(frame, table.head, labels)


def hidden(measured: MeasuredStep, *, done: bool) -> bool:
    """Return whether the figure stays hidden until the answer."""
    return measured.step.show in TABLES and bool(measured.step.question) and not done
