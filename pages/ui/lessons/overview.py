"""The list of lessons, with the user's progress."""

from pathlib import Path

import streamlit as st

from pages.ui.params.lessons import LessonParams
from pages.ui.state import session
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text
from transformer.errors import LessonError
from transformer.lessons.folders import SHIPPED_FOLDER, lesson_files
from transformer.lessons.lesson import read_lesson
from transformer.text.languages import LANGUAGES


def show_overview() -> None:
    """Show the lessons of the app in order, then the lessons that a teacher has added."""
    files = lesson_files()
    params = session.params(LessonParams)
    st.markdown(
        "Each of these short lessons builds on the previous one. Every step shows a figure computed by the real "
        f"model ({LANGUAGES}), asks what you expect, and then shows what was measured. "
        + (f"**{len(params.done)} of {len(files)}** done." if params.done else "Begin with the first.")
    )
    shipped = [(name, path) for name, path in files.items() if path.parent == SHIPPED_FOLDER]
    own_lessons = [(name, path) for name, path in files.items() if path.parent != SHIPPED_FOLDER]
    _show_list(shipped, params)
    if own_lessons:
        st.subheader("From the folder “lessons”", anchor=False)
        _show_list(own_lessons, params)


def _show_list(files: list[tuple[str, Path]], params: LessonParams) -> None:
    for number, (name, path) in enumerate(files, 1):
        try:
            lesson = read_lesson(path)
        except (LessonError, OSError) as error:
            st.warning(f"This lesson cannot be shown. {error_text(error)}", icon=":material/edit:")
            continue
        done = name in params.done
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            words = st.container()
            words.markdown(f"**{number}. {markdown(lesson.title)}**  \n{markdown(lesson.summary)}")
            st.button(
                "Again" if done else "Start",
                key=f"lesson_open_{name}",
                icon=":material/check:" if done else ":material/play_arrow:",
                help=f"{len(lesson.steps)} steps",
                on_click=session.store,
                args=(params.at(name),),
            )
