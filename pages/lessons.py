"""Lessons: a figure of the model, a question, and the number that was measured."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

from zlib import crc32

import streamlit as st

from pages.ui.lessons.overview import show_overview
from pages.ui.lessons.page import show_lesson
from pages.ui.params.lessons import LessonParams
from pages.ui.state import session
from transformer.lessons.shelf import lesson_files

params = session.params(LessonParams)
opened = params.id
# Whoever opens a lesson far down in the list begins at its top, as on a page of its own; an answer moves nothing.
st.html(
    "<script>document.querySelector('[data-testid=stMain]').scrollTo(0, 0); "
    f"/* {crc32(f'{opened} {params.step}'.encode())} */</script>",
    unsafe_allow_javascript=True,
)
# On a projector the buttons of a step stand side by side without the names of their keys. The title of the next lesson
# is broken into lines where Streamlit would cut it.
st.html("""<style>
@media (max-width: 1200px) { .st-key-lesson_words kbd { display: none; } }
.st-key-lesson_next button { height: auto; }
.st-key-lesson_next :is([data-testid=stMarkdownContainer], p) { white-space: normal; }
</style>""")
if opened:
    show_lesson(lesson_files()[opened])
else:
    show_overview()
