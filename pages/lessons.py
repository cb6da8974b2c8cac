"""The "Lessons" page: each step shows a figure computed by the model, asks a question and gives the measured answer."""

from pages.ui.shell.router import ensure_router

ensure_router()

from zlib import crc32

import streamlit as st

from pages.ui.lessons.overview import show_overview
from pages.ui.lessons.page import show_lesson
from pages.ui.params.lessons import LessonParams
from pages.ui.state import session
from transformer.lessons.folders import lesson_files

params = session.params(LessonParams)
opened = params.id
# Scroll to the top when another lesson or step opens, but not when the user answers a question.
st.html(
    "<script>document.querySelector('[data-testid=stMain]').scrollTo(0, 0); "
    f"/* {crc32(f'{opened} {params.step}'.encode())} */</script>",
    unsafe_allow_javascript=True,
)
# On a projector, step buttons are side by side and hide their shortcut labels. Elsewhere the labels show the equivalent
# arrow key (`assets/lecture/lecture.js`), because most laptops have no Page Down key. The title of the next lesson
# wraps, because Streamlit would truncate it.
st.html("""<style>
@media (max-width: 1200px) { .st-key-lesson_words kbd { display: none; } }
:is(.st-key-lesson_show, .st-key-lesson_next, .st-key-lesson_previous) kbd { font-size: 0; }
:is(.st-key-lesson_show, .st-key-lesson_next) kbd::after { content: "→"; font-size: 0.8rem; }
.st-key-lesson_previous kbd::after { content: "←"; font-size: 0.8rem; }
.st-key-lesson_totals p { font-weight: 600; }
.st-key-lesson_next button { height: auto; }
.st-key-lesson_next :is([data-testid=stMarkdownContainer], p) { white-space: normal; }
</style>""")
if opened:
    show_lesson(lesson_files()[opened])
else:
    show_overview()
