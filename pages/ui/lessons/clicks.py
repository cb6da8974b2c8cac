"""Decides whether a click in a lesson's attention map completes the task, and comments on a wrong click."""

from attention_atlas.browser.labels import column_labels, place_of, row_labels
from pages.ui.lessons.figures import first_choice, pinned_row
from pages.ui.lessons.measured_step import MeasuredStep
from pages.ui.params.attention import AttentionParams
from pages.ui.text.markup import markdown
from transformer.analysis.view import view_of


def is_done(lesson_step: MeasuredStep, clicked: AttentionParams) -> bool:
    """Return whether the head or row that the user chose in the attention map completes the step's task."""
    step, values = lesson_step.step, lesson_step.finding.values
    if step.next_when == "head opened":
        return _numbers(clicked) == (values["layer"], values["head"])
    asked_in = _opened_head(lesson_step)
    return (
        step.next_when == "row pinned"
        and (clicked.layer, clicked.head) == asked_in
        and bool(set(clicked.rows) & set(pinned_row(lesson_step, asked_in)))
    )


def describe_wrong_choice(lesson_step: MeasuredStep, clicked: AttentionParams) -> str:
    """Return a Markdown comment on a wrong head or row; empty if the user has not chosen a head or row."""
    what = {"head opened": _other_head, "row pinned": _other_row}.get(lesson_step.step.next_when)
    remark = what(lesson_step, clicked) if what else ""
    return remark and f"{remark} Try another, or press “Show me”."


def _other_head(lesson_step: MeasuredStep, clicked: AttentionParams) -> str:
    layer, head = _numbers(clicked)
    if (clicked.layer, clicked.head) == _opened_head(lesson_step):
        # The map opens with this head, so the user may not have chosen it.
        return ""
    return f"You opened **layer {layer}, head {head}**, which is not the right one."


def _other_row(lesson_step: MeasuredStep, clicked: AttentionParams) -> str:
    # The user's display settings determine the rows of the map.
    view = view_of(
        lesson_step.evidence.trace(), lesson_step.figure["kind"], words=clicked.words, special=not clicked.hide
    )
    row = next((row for row, at in enumerate(view.axes.row_positions) if set(at) & set(clicked.rows)), None)
    if row is None:
        return ""
    rows, columns = row_labels(view.axes), column_labels(view.axes)
    name = f"“{markdown(rows[row])}”{place_of(rows, row)}"
    if (clicked.layer, clicked.head) != _opened_head(lesson_step):
        layer, head = (number + 1 for number in _opened_head(lesson_step))
        return f"You marked {name}, but not in layer {layer}, head {head}."
    column = int(view.weights[clicked.layer, clicked.head, row].argmax())
    looked_at = f"“{markdown(columns[column])}”{place_of(columns, column)}"
    return f"You marked {name}, which looks most at {looked_at}. This is not the row in the question."


def _opened_head(lesson_step: MeasuredStep) -> tuple[int, int]:
    """Return the 0-based layer and head with which the attention map opens."""
    choice = first_choice(lesson_step, solved=False)
    return choice.layer, choice.head


def _numbers(clicked: AttentionParams) -> tuple[int, int]:
    return clicked.layer + 1, clicked.head + 1
