"""Shows the figure of a lesson step: an attention map, a chart or a table."""

from io import StringIO

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.payload import browser_payload, sentence_id
from pages.ui.about.learning_curve import LOSS, QUALITY, learning_chart
from pages.ui.charts.tables import numbered_labels, show_numbers, show_table
from pages.ui.components.attention_browser import draw_browser
from pages.ui.components.save_as import show_altair, show_figure_table
from pages.ui.components.side_by_side import DIFFERENCE, Map, side_by_side
from pages.ui.components.synced_state import SyncedState
from pages.ui.layout.roles import aside
from pages.ui.lessons.charts import bars, costs, ranks, tiles, with_points
from pages.ui.lessons.measured_step import MeasuredStep
from pages.ui.lessons.tables import display_table, table_of, totals_of, without_maps
from pages.ui.params.attention import AttentionParams
from pages.ui.text.markup import markdown
from transformer.lessons.evidence import JOBS
from transformer.lessons.result import opened_head
from transformer.lessons.tables import TABLES, Table
from transformer.running.runs.metrics import MetricsRun
from transformer.running.runs.trace import TraceRun

# Table columns that contain whole sentences, and the width in pixels of each, which leaves room for the other columns
# on a projector.
LONG_COLUMNS, TEXT_WIDTH = ("translation", "with positions", "without positions"), 240
# State with which the map was last opened: the lesson's id, the step number, and whether the answer was visible.
SYNCED: SyncedState[tuple[str, int, bool]] = SyncedState("_lesson_map")
BARS = ("candidates", "probabilities", "norms", "vectors")
TOTALS = "lesson_totals"
# Decimal places; FINE_DIGITS is for the probabilities of whole sentences, which are small.
DIGITS, FINE_DIGITS = 3, 4


def first_choice(lesson_step: MeasuredStep, *, solved: bool) -> AttentionParams:
    """Return the head, the pinned rows and the metric with which a step's attention map opens.

    Args:
        lesson_step: the step.
        solved: whether the user has completed the step's task.
    """
    step, evidence, figure = lesson_step.step, lesson_step.evidence, lesson_step.figure
    kind = figure["kind"]
    layer, head = opened_head(step, lesson_step.finding, evidence) if solved else evidence.head(kind, figure["head"])
    rows: tuple[int, ...] = ()
    if "row" in figure and (solved or step.next_when != "row pinned"):
        rows = pinned_row(lesson_step, (layer, head))
    # The bars below the small maps give the answer away, so show them only once the user has answered.
    bars = ""
    if solved and "bars" in figure:
        # If the job is not defined for this attention kind, this call raises an error, which the page shows.
        evidence.shares(kind, figure["bars"])
        bars = JOBS[figure["bars"]]
    return AttentionParams(layer=layer, head=head, words=True, rows=rows, metric=bars)


def pinned_row(lesson_step: MeasuredStep, at: tuple[int, int]) -> tuple[int, ...]:
    """Return the token positions of the row that the figure pins.

    Args:
        lesson_step: the step.
        at: the 0-based layer and head that the map shows; the pinned row can depend on them.
    """
    kind = lesson_step.figure["kind"]
    row = lesson_step.evidence.row(kind, lesson_step.figure["row"], at)
    return lesson_step.evidence.view(kind).axes.row_positions[row]


def chosen_in_map(lesson_step: MeasuredStep, opened: tuple[str, int]) -> AttentionParams | None:
    """Return the user's choice in the attention map since the step was opened; None if there is none.

    Args:
        lesson_step: the step.
        opened: the id of the open lesson, and the step number.
    """
    message = st.session_state.get(_key(lesson_step), {}).get("choice")
    now = sentence_id(lesson_step.evidence.trace()), _request_number(lesson_step, (*opened, False))
    # Ignore a choice that was made in the map of another step, or before this step was last opened.
    if not isinstance(message, dict) or (message.get("id"), message.get("request")) != now:
        return None
    return AttentionParams.from_browser(message)


def show_map(lesson_step: MeasuredStep, opened: tuple[str, int], *, done: bool) -> None:
    """Show the attention browser of a step. When the task is done, the attention browser switches to the answer.

    Until then, or until another step opens, the user's choice in the attention browser survives Streamlit reruns.

    Args:
        lesson_step: the step.
        opened: the id of the open lesson, and the step number.
        done: whether the task is done. Until then, if the step has a question, the attention browser does not describe
            the map in words.
    """
    step, trace = lesson_step.step, lesson_step.evidence.trace()
    draw_browser(
        key=_key(lesson_step),
        width="stretch",
        on_choice_change=lambda: None,
        data=browser_payload(
            trace,
            lesson_step.evidence.runs.get(MetricsRun(TraceRun(trace.source_text), lesson_step.figure["kind"])),
            vars(first_choice(lesson_step, solved=done)),
            number=_request_number(lesson_step, (*opened, done)),
            quiet=bool(step.question) and not done,
            beside=True,
        ),
    )


def _request_number(lesson_step: MeasuredStep, shown: tuple[str, int, bool]) -> int:
    """Return the attention browser's request number. It changes when the step is opened, reopened or completed."""
    # If a script run does not show the map, Streamlit drops the user's choice but the attention browser keeps it.
    # In that case, make a new request.
    stays = SYNCED.shown == shown and _key(lesson_step) in st.session_state
    return SYNCED.request(shown, new=not stays).number


def _key(lesson_step: MeasuredStep) -> str:
    return f"lesson_{lesson_step.figure['kind']}"


def show_without(lesson_step: MeasuredStep, *, done: bool) -> None:
    """Show a head's map and, when the task is done, also the head's map without the mask or without positions."""
    maps = [
        Map(title, rows, columns, values, mask)
        for title, rows, columns, values, mask in without_maps(lesson_step.evidence, **lesson_step.figure)
    ]
    side_by_side(maps if done else maps[:1], "lesson_without", sentence="")


def show_learning(curve: str, marked: pd.DataFrame) -> None:
    """Show a model's learning curves, one of the loss and one of the translation quality (chrF).

    Args:
        curve: the learning curves as CSV text.
        marked: the training steps to label, from the table of a figure of type "learning".
    """
    table = pd.read_csv(StringIO(curve))
    for lines, unit, name, meaning in (
        (
            LOSS,
            "loss, nats per token",
            "loss",
            lambda row: f"{row.loss:.2f}: like a guess among {row.perplexity:,.0f} tokens",
        ),
        (QUALITY, "chrF, 0 to 100", "chrf", lambda row: f"{row.chrF:.0f} after {row.part} of the steps"),
    ):
        points = marked.rename(columns={"of all steps": "part"})
        points = points[points["loss" if name == "loss" else "chrF"].notna()]
        show_altair(
            with_points(
                learning_chart(table, lines, unit),
                pd.DataFrame(
                    {
                        "step": points.step,
                        "value": points["loss" if name == "loss" else "chrF"],
                        "says": [meaning(row) for row in points.itertuples()],
                    }
                ),
                last=int(table.step.max()),
            ),
            key=f"lesson_{name}",
            alt=f"Learning curve: {unit}, by training step.",
            sentence="",
        )


def show_values(table: Table) -> None:
    """Show a sum of vectors as a coloured table: one row per position, one column per component of the vectors."""
    frame = display_table(table)
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
                axes=(table.head, "component of the vector"),
            )
        ],
        "lesson_values",
        sentence="",
    )


def show_table_figure(lesson_step: MeasuredStep) -> None:
    """Show a figure that is based on a table: totals as text, and a chart, a coloured table or the table itself."""
    table = table_of(lesson_step)
    assert table is not None, "the figure has a table"
    frame, show = display_table(table), lesson_step.step.show
    chart = _chart(show, table, frame)
    if totals := totals_of(table):
        st.container(key=TOTALS).markdown(markdown(totals))
    if show == "learning":
        show_learning(lesson_step.evidence.curve(), frame)
    elif show == "values":
        show_values(table)
    elif chart is not None:
        show_altair(
            chart,
            key="lesson_bars",
            alt=f"{', '.join(table.columns)}, by {table.head}; the table has the numbers.",
            sentence="",
        )
    digits = FINE_DIGITS if show == "translations" else DIGITS
    wrapped = {name: TEXT_WIDTH for name in frame if name in LONG_COLUMNS}
    if show == "learning":
        with aside("lesson_numbers"):
            show_table(frame, "lesson_table", digits=digits, wrapped=wrapped)
    elif chart is not None or show == "values":
        with aside("lesson_numbers"):
            show_numbers(frame, "lesson_numbers", digits=DIGITS)
    else:
        show_figure_table(frame, "lesson_table", digits=digits, wrapped=wrapped)


def _chart(show: str, table: Table, frame: pd.DataFrame) -> alt.LayerChart | None:
    if table.across:
        return tiles(table)
    if show == "worth":
        return ranks(table)
    if show == "named":
        return costs(table)
    if show not in BARS:
        return None
    # Number the tokens, because equal tokens need separate bars. Other labels are unique.
    names = numbered_labels(frame[table.head].tolist())
    labels = [str(label) if isinstance(label, str) else name for label, name in zip(table.labels, names, strict=True)]
    return bars(frame, table.head, labels)


def is_hidden(lesson_step: MeasuredStep, *, done: bool) -> bool:
    """Return whether the figure must stay hidden until the user has answered, because it shows the answer."""
    return lesson_step.step.show in TABLES and bool(lesson_step.step.question) and not done
