"""Shows the answer widgets of a bet or lesson question: one button per choice, or a box for a number."""

from collections.abc import Callable

import streamlit as st

from pages.ui.params.lessons import LessonParams
from pages.ui.text.markup import markdown
from transformer.lessons.result import Question

MAX_GUESS = 999_999.0
# Keys 1 to 9 are keyboard shortcuts for the first nine choices.
SHORTCUT_COUNT = 9


def ask(question: Question, key: str, answered: Callable[[str], None], *, in_rows: bool = False) -> None:
    """Show one button per choice, or a number box if the question has no choices.

    Args:
        question: the question.
        key: the prefix of the widgets' keys.
        answered: called with the user's answer, in the format of `LessonParams.answer`.
        in_rows: whether buttons are side by side and have no keyboard shortcuts.
    """
    with st.container(horizontal=in_rows, gap="xxsmall" if in_rows else "small"):
        for number, choice in enumerate(question.choices, 1):
            st.button(
                markdown(choice),
                key=f"{key}_choice_{number}",
                width="content" if in_rows else "stretch",
                shortcut=None if in_rows or number > SHORTCUT_COUNT else str(number),
                on_click=answered,
                args=(str(number),),
            )
    if question.choices:
        return

    def guessed() -> None:
        # Submitting an empty box does not count as an answer.
        number = st.session_state.get(f"{key}_number")
        if number is not None:
            given = LessonParams.checked("answer", f"{number:.3f}".rstrip("0").rstrip("."))
            if given is not None:
                answered(given)

    with st.form(f"{key}_guess", border=False), st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.number_input(
            "Your guess, in percent" if question.percent else "Your guess",
            key=f"{key}_number",
            min_value=0.0,
            max_value=100.0 if question.percent else MAX_GUESS,
            value=None,
            step=1.0,
            format="%g",
        )
        st.form_submit_button("Measure", type="primary", on_click=guessed)
