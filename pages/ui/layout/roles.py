"""Roles of page elements, which decide what is visible in lecture mode.

In lecture mode, a page shows only its main figure, as large as the screen. Pages mark elements as the main figure, as
text of the figure, or as an aside; unmarked elements are explanations or controls. An element's role decides whether
assets/lecture/page.css hides or enlarges it. Code that draws charts and tables calls `is_lecture_mode` to choose their
size.
"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.params.lecture import LectureParams
from pages.ui.params.lessons import LessonParams
from pages.ui.state import session
from transformer.files.paths import ASSETS

MAIN = "main_figure"
LINES = "lecture_lines"
WORDS = "main_words"
ASIDE = "aside"
# Number of characters in one line of a headline on a projector 1024 pixels wide.
ROW = 72
# Height of a slide's title in pixels; keep in sync with assets/lecture/lecture.css.
TITLE_HEIGHT = 46
STYLE = f"<style>{(ASSETS / 'lecture' / 'page.css').read_text(encoding='utf-8')}</style>"


def is_lecture_mode() -> bool:
    """Return whether lecture mode is on."""
    return session.params(LectureParams).lecture


def lay_out(page: str) -> None:
    """If lecture mode is on, enlarge all text.

    On a page with a main figure, also hide everything except the figure, the lecturer's controls and error messages.

    Args:
        page: the name of the open page.
    """
    if is_lecture_mode():
        titled = session.params(LectureParams).heading(page)
        st.html(STYLE + (f"<style>:root {{ --slide-title: {TITLE_HEIGHT}px; }}</style>" if titled else ""))


def main_figure(*headline: str, when: bool = True, rows: int = 1) -> DeltaGenerator:
    """Return the container for the main figure. A page has at most one main figure.

    Args:
        headline: Markdown paragraphs that say what the figure shows and what to look for; visible only in lecture mode.
        when: whether this figure is the main one, on a page with several figures.
        rows: the maximum number of lines of each paragraph. Longer paragraphs are truncated, so that the figure stays
            high on the screen.
    """
    if not when:
        return st.container()
    place = st.container(key=MAIN)
    lines = tuple(filter(None, headline))
    if lines and is_lecture_mode():
        row_count = sum(min(rows, 1 + len(line) // ROW) for line in lines)
        with place.container(key=LINES, gap=None):
            st.markdown("\n\n".join(lines))
            st.html(f"<style>.st-key-{MAIN} {{ --lines: {row_count}; --rows: {rows}; }}</style>")
    return place


def words_and_figure(*headline: str, wide: bool = False) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return two containers in the main figure: the left one for explanatory words, the right one for the figure.

    Args:
        headline: Markdown paragraphs, as for `main_figure`.
        wide: whether the figure is wider than usual.
    """
    with main_figure(*headline):
        words, figure = st.columns(
            [5, 7] if is_lecture_mode() and not wide else [4, 8], gap="small" if is_lecture_mode() else "large"
        )
    return words, figure


def figure_words() -> DeltaGenerator:
    """Return the container for text that belongs to the main figure and stays visible in lecture mode.

    A page has at most one such container.
    """
    return st.container(key=WORDS, gap="xsmall")


def aside(name: str) -> DeltaGenerator:
    """Return a container whose content is hidden in lecture mode, even inside the main figure.

    Args:
        name: a name that is unique on the page.
    """
    return st.container(key=f"{ASIDE}_{name}")


def clicker_is_free() -> bool:
    """Return whether a presentation clicker may press the page's own buttons. On a slide, the clicker changes slides
    instead.
    """
    return not session.params(LectureParams).presents_as_slide(session.params(LessonParams).id)
