"""Navigation buttons below a lesson step: "Show me", "Back", and "Next"."""

from contextlib import suppress

import streamlit as st

from pages.ui.layout.roles import clicker_is_free
from pages.ui.params.lessons import SHOWN, LessonParams
from pages.ui.state import session
from pages.ui.text.markup import markdown
from transformer.errors import LessonError
from transformer.lessons.folders import lesson_files
from transformer.lessons.lesson import Lesson, LessonStep, read_lesson


def show_navigation(lesson: Lesson, number: int, *, done: bool) -> None:
    """Show the navigation buttons below a lesson step.

    Args:
        lesson: the lesson.
        number: the 0-based number of the step.
        done: whether the user has completed the step's task; "Next" is disabled until then.
    """
    keyed = clicker_is_free()
    label, to = _following(lesson, number)
    with st.container(horizontal=True):
        if not done:
            # A presentation clicker cannot answer a question, so its "next" key presses this button until the task is
            # done.
            st.button(
                "Show me",
                key="lesson_show",
                shortcut="PageDown" if keyed else None,
                on_click=answer_question,
                args=(SHOWN,),
            )
        st.button(
            "Back",
            key="lesson_previous",
            disabled=number == 0,
            shortcut="PageUp" if keyed else None,
            on_click=open_step,
            args=(lesson.id, number - 1),
        )
        st.button(
            label,
            key="lesson_next",
            type="primary",
            disabled=not done,
            shortcut="PageDown" if keyed and done else None,
            help=None if done else _describe_task(lesson.steps[number]),
            on_click=open_step,
            args=to,
        )


def answer_question(answer: str) -> None:
    """Callback: store the user's answer to the open step, in the format of `LessonParams.answer`."""
    session.update(LessonParams, answer=answer)


def open_step(lesson: str, number: int = 0) -> None:
    """Callback: open a step of a lesson; if `lesson` is empty, open the list of lessons."""
    session.store(session.params(LessonParams).at(lesson, number))


def _following(lesson: Lesson, number: int) -> tuple[str, tuple[str, int]]:
    """Return the label of the "Next" button, and the arguments for `open_step`."""
    if number + 1 < len(lesson.steps):
        return "Next", (lesson.id, number + 1)
    after = _lesson_after(lesson.id)
    return (
        ("Back to all lessons", ("", 0)) if after is None else (f"Next lesson: {markdown(after.title)}", (after.id, 0))
    )


def _lesson_after(name: str) -> Lesson | None:
    """Return the next readable lesson in the list; None if there is none."""
    files = lesson_files()
    for path in list(files.values())[list(files).index(name) + 1 :]:
        with suppress(LessonError, OSError):
            return read_lesson(path)
    return None


def _describe_task(step: LessonStep) -> str:
    """Return the tooltip that says how to complete the step's task; empty for a step without a task."""
    return {
        "answered": "Answer the question first.",
        "row pinned": "Click a cell in the row first.",
        "head opened": "Click the head first.",
        "read": "",
    }[step.next_when]
