"""Checks the user's click in a lesson's attention map, and comments on a wrong click."""

from __future__ import annotations

from attention_atlas.browser.labels import column_labels, place_of, row_labels
from pages.ui.lessons.figures import first_choice, pinned_row
from pages.ui.lessons.measured_step import MeasuredStep
from pages.ui.params.attention import AttentionParams
from pages.ui.text.markup import markdown
from transformer.analysis.view import view_of


def is_done(measured: MeasuredStep, clicked: AttentionParams) -> bool:
    """Return whether the user's choice in the attention map completes the step's task."""
    step, values = measured.step, measured.finding.values
    if step.next_when == "head opened":
        return _numbers(clicked) == (values["layer"], values["head"])
    asked_in = _opened_head(measured)
    return (
        step.next_when == "row pinned"
        and (clicked.layer, clicked.head) == asked_in
        and bool(set(clicked.rows) & set(pinned_row(measured, asked_in)))
    )


def describe_wrong_choice(measured: MeasuredStep, clicked: AttentionParams) -> str:
    """Return a Markdown comment on a wrong choice in the attention map; empty if the user has not chosen anything."""
    what = {"head opened": _other_head, "row pinned": _other_row}.get(measured.step.next_when)
    said = what(measured, clicked) if what else ""
    return said and f"{said} Try another, or press “Show me”."


def _other_head(measured: MeasuredStep, clicked: AttentionParams) -> str:
    layer, head = _numbers(clicked)
    if (clicked.layer, clicked.head) == _opened_head(measured):
        # The map opens with this head, so the user has not clicked anything yet.
        return ""
    return f"You opened **layer {layer}, head {head}**, which is not the right one."


def _other_row(measured: MeasuredStep, clicked: AttentionParams) -> str:
    # Use the user's display settings, because they determine the rows of the map.
    view = view_of(measured.evidence.trace(), measured.figure["kind"], words=clicked.words, special=not clicked.hide)
    row = next((row for row, at in enumerate(view.axes.row_positions) if set(at) & set(clicked.rows)), None)
    if row is None:
        return ""
    rows, columns = row_labels(view.axes), column_labels(view.axes)
    name = f"“{markdown(rows[row])}”{place_of(rows, row)}"
    if (clicked.layer, clicked.head) != _opened_head(measured):
        layer, head = (number + 1 for number in _opened_head(measured))
        return f"You marked {name}, but not in layer {layer}, head {head}."
    column = int(view.weights[clicked.layer, clicked.head, row].argmax())
    looked_at = f"“{markdown(columns[column])}”{place_of(columns, column)}"
    return f"You marked {name}, which looks most at {looked_at}: this is not the row in the question."


def _opened_head(measured: MeasuredStep) -> tuple[int, int]:
    """Return the layer and head with which the map opens, both 0-based."""
    choice = first_choice(measured, solved=False)
    return choice.layer, choice.head


def _numbers(clicked: AttentionParams) -> tuple[int, int]:
    return clicked.layer + 1, clicked.head + 1
