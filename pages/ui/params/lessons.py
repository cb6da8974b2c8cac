"""URL parameters of the Lessons page: the open lesson and step, and the finished lessons."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pages.ui.params.fields import Params, index, matching, parsed
from transformer.lessons.folders import MAX_STEPS, lesson_files, step_count

# Stored instead of an answer if the user asked to see the solution.
SHOWN = "shown"


def _known(text: str) -> str | None:
    return text if text in lesson_files() else None


def _all_known(text: str) -> tuple[str, ...] | None:
    names = tuple(dict.fromkeys(text.split(".")))
    return names if names and all(map(_known, names)) else None


@dataclass(frozen=True)
class LessonParams(Params, prefix="lesson_"):
    """Settings of the Lessons page.

    Attributes:
        id: the ID of the open lesson; empty for the list of all lessons.
        step: the 0-based index of the open step.
        answer: the answer to the step's question: the 1-based number of a choice, the guessed number, or SHOWN. In a
            step without a question, SHOWN or any number marks the step as done. Empty if there is no answer yet.
        done: the IDs of the finished lessons.
    """

    id: str = parsed("", _known)
    step: int = index(MAX_STEPS - 1)
    answer: str = matching(rf"[0-9]{{1,6}}(\.[0-9]{{1,3}})?|{SHOWN}")
    done: tuple[str, ...] = parsed((), _all_known)

    @property
    def shown_step(self) -> int:
        """The index of the open step, or of the last step if an old URL names a step that no longer exists."""
        return min(self.step, step_count(self.id) - 1)

    def at(self, lesson: str, step: int = 0) -> LessonParams:
        """Return a copy in which a step of a lesson is open and has no answer yet."""
        return replace(self, id=lesson, step=step, answer="")

    def with_done(self, lesson: str) -> LessonParams:
        """Return a copy with a lesson marked as finished."""
        return self if lesson in self.done else replace(self, done=(*self.done, lesson))
