"""Exports a lesson as one HTML file that works offline: a worksheet to print, or the lesson with interactive maps."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from math import isnan

import numpy as np
import pandas as pd

from attention_atlas.browser.html_file import POLICY, theme
from attention_atlas.browser.payload import browser_payload
from attention_atlas.browser.scripts import script, style
from pages.ui.lessons.figures import first_choice
from pages.ui.lessons.measured_step import MeasuredStep, finding_run, measured_step
from pages.ui.lessons.tables import figure_table, without_maps
from pages.ui.text.number_format import typeset
from pages.ui.text.server_paths import without_server_paths
from transformer.errors import AtlasError, LessonError
from transformer.experiments.experiment import ClaimedRun, Experiment
from transformer.lessons.lesson import Lesson
from transformer.running.runs.metrics import MetricsRun
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator

LESSON_FILE = "attention_browser/lesson_file"
FOOTER = "Made with Attention Atlas. All numbers were measured on the model {}."


def handout(lesson: Lesson, write: Callable[[], str]) -> str:
    """Return the HTML document from `write`, or a document with the error message if a step cannot be measured.

    Streamlit calls `handout` only when the user clicks the download button, and shows no exceptions at that time.
    """
    try:
        return write()
    except AtlasError as error:
        problem = escape(without_server_paths(str(error)))
        return _document(lesson, f"<p><strong>This lesson cannot be exported: {problem}</strong></p>")


@contextmanager
def _step_named(number: int) -> Iterator[None]:
    """Context manager that adds the step's number to the message of an error."""
    try:
        yield
    except AtlasError as error:
        raise LessonError(f"step {number}: {error}") from error


def worksheet(lesson: Lesson, translator: Translator, *, answers: bool) -> str:
    """Return a lesson's worksheet as HTML, either with the measured answers or with an empty table to fill in.

    Raises:
        LessonError: a step cannot be measured.
    """
    steps, blocks = [], []
    for number, lesson_step in enumerate(lesson.steps, 1):
        with _step_named(number):
            step = measured_step(translator, lesson_step)
            choices = "".join(f"<li>☐ {escape(choice)}</li>" for choice in step.question.choices)
            sentence = (
                f"<p class=sentence>{escape(lesson_step.sentence)}</p>"
                if lesson_step.sentence != lesson.sentence
                else ""
            )
            reveal = f"<p class=answer>{escape(step.plain(lesson_step.reveal))}</p>" if answers else ""
            blocks.append(
                f"<section><h2>{number}.</h2>{sentence}<p>{escape(step.plain(lesson_step.look_for))}</p>"
                f"<p><strong>{escape(step.plain(lesson_step.question))}</strong></p><ul>{choices}</ul>{reveal}</section>"
            )
            steps.append(step)
    rows = "".join(
        f"<tr><th scope=row>{number}</th><td></td><td>{escape(_answer(step)) if answers else ''}</td></tr>"
        for number, step in enumerate(steps, 1)
        if step.step.question
    )
    head = "<tr><th>Step</th><th>What I expect</th><th>What was measured</th></tr>"
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    name = "<p>Name: ____________________________</p>" if not answers else "<p>With the answers</p>"
    return _document(lesson, f"{name}{''.join(blocks)}{table}")


def lesson_file(lesson: Lesson, translator: Translator) -> str:
    """Return a lesson as HTML with interactive maps. Each answer is hidden until the user clicks.

    Raises:
        LessonError: a step cannot be measured.
    """
    blocks, maps, parts = [], [], []
    for number, lesson_step in enumerate(lesson.steps, 1):
        with _step_named(number):
            step = measured_step(translator, lesson_step)
            figure = _figure(step, maps)
            parts.append(ClaimedRun.of(f"step {number}", finding_run(lesson_step), step.finding))
            choices = "".join(f"<li>{escape(choice)}</li>" for choice in step.question.choices)
            after = lesson_step.show != "map"
            blocks.append(
                f"<section><h2>{number}.</h2><p class=sentence>{escape(lesson_step.sentence)}</p>"
                f"<p>{escape(step.plain(lesson_step.look_for))}</p>{'' if after else figure}"
                f"<p><strong>{escape(step.plain(lesson_step.question))}</strong></p><ul>{choices}</ul>"
                f"<details><summary>What was measured</summary><p>{escape(step.plain(lesson_step.reveal))}</p>"
                f"{figure if after else ''}</details></section>"
            )
    return _document(
        lesson,
        "".join(blocks),
        (
            f"<script id=content type=application/json>{json.dumps(maps)}</script>"
            f"<script type=module>{script(LESSON_FILE)}</script>"
            f"<!-- {Experiment(translator.version, lesson.model, '', tuple(parts)).embedded_text()} -->"
        ),
    )


def _answer(step: MeasuredStep) -> str:
    if step.step.guess:
        return f"{typeset(step.question.number, 1)}{'%' if step.step.percent else ''}"
    return step.question.choices[step.question.answer]


def _figure(step: MeasuredStep, maps: list[str]) -> str:
    """Return the HTML of a figure. For an attention map, return a placeholder, and append the map's data to `maps`."""
    if step.step.show == "map":
        kind, trace = step.figure["kind"], step.evidence.trace()
        metrics = step.evidence.runs.get(MetricsRun(TraceRun(trace.source_text), kind))
        data = browser_payload(trace, metrics, vars(first_choice(step, solved=False)), quiet=bool(step.step.question))
        maps.append(base64.b64encode(data).decode("ascii"))
        return f"<div class=figure data-map={len(maps) - 1}></div>"
    if step.step.show == "without":
        return "".join(
            f"<figure><figcaption>{escape(title)}</figcaption>{_map_table(rows, columns, values, mask)}</figure>"
            for title, rows, columns, values, mask in without_maps(step.evidence, **step.figure)
        )
    table = figure_table(step)
    return "" if table is None else _table(table)


def _table(table: pd.DataFrame) -> str:
    def written(value: object) -> str:
        if isinstance(value, float):
            return "" if isnan(value) else typeset(value, 3)
        return "" if value is None else escape(str(value))

    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{written(value)}</td>" for value in row) + "</tr>"
        for row in table.itertuples(index=False)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _map_table(rows: list[str], columns: list[str], values: np.ndarray, mask: np.ndarray) -> str:
    shown = pd.DataFrame(
        [
            [f"{value:.2f}" if seen else "masked" for value, seen in zip(*row, strict=True)]
            for row in zip(values, mask, strict=True)
        ]
    )
    shown.insert(0, "from", rows)
    shown.columns = ["", *columns]
    return f"<div class=wide>{_table(shown)}</div>"


def _document(lesson: Lesson, body: str, scripts: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{escape(lesson.title)}</title>'
        f"<style>{theme()}{style(LESSON_FILE)}</style><main><h1>{escape(lesson.title)}</h1>"
        f"<p>{escape(lesson.summary)}</p><p class=sentence>{escape(lesson.sentence)}</p>{body}"
        f"<footer>{FOOTER.format(escape(lesson.model))}</footer>"
        f"</main>{scripts}</html>"
    )
