"""Roles of page elements: the main figure, its words, and asides; everything else explains or controls.

Pages declare only these roles. This module alone implements lecture mode, which shows the main figure as large as the
screen and nothing else. assets/lecture/page.css hides or enlarges elements by their roles. Charts, tables and
components call `large`.
"""

from __future__ import annotations

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
# The maximum number of characters of a headline that fit in one row on a projector 1024 pixels wide.
ROW = 72
# Height in pixels that a slide's title takes from its figure; assets/lecture/lecture.css has the same number.
TITLE_HEIGHT = 46
STYLE = f"<style>{(ASSETS / 'lecture' / 'page.css').read_text(encoding='utf-8')}</style>"


def large() -> bool:
    """Return whether the page shows only its main figure, as large as the screen."""
    return session.params(LectureParams).lecture


def lay_out(page: str) -> None:
    """In lecture mode, hide everything on the page except its main figure, and enlarge all type.

    Args:
        page: the name of the open page.
    """
    if large():
        titled = session.params(LectureParams).heading(page)
        st.html(STYLE + (f"<style>:root {{ --slide-title: {TITLE_HEIGHT}px; }}</style>" if titled else ""))


def main_figure(*headline: str, when: bool = True, rows: int = 1) -> DeltaGenerator:
    """Return the container of the page's only main figure.

    Args:
        headline: lines of Markdown that state what the figure shows and what to look for, for an audience that sees
            only the figure.
        when: whether this is the main figure, if the page chooses between several.
        rows: the maximum number of rows of a line; a longer line is cut, so that the figure stays high on the screen.
    """
    if not when:
        return st.container()
    place = st.container(key=MAIN)
    lines = tuple(filter(None, headline))
    if lines and large():
        taken = sum(min(rows, 1 + len(line) // ROW) for line in lines)
        with place.container(key=LINES, gap=None):
            st.markdown("\n\n".join(lines))
            st.html(f"<style>.st-key-{MAIN} {{ --lines: {taken}; --rows: {rows}; }}</style>")
    return place


def words_and_figure(*headline: str, wide: bool = False) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the container for words that belong to a main figure, and on its right that of the figure.

    Args:
        headline: as in `main_figure`.
        wide: whether the figure needs more of the width than usual.
    """
    with main_figure(*headline):
        words, figure = st.columns([5, 7] if large() and not wide else [4, 8], gap="small" if large() else "large")
    return words, figure


def figure_words() -> DeltaGenerator:
    """Return the page's only container for words that are part of the main figure, not comments on it."""
    return st.container(key=WORDS, gap="xsmall")


def aside(name: str) -> DeltaGenerator:
    """Return a container for content that is next to the main figure or inside it, but not part of it.

    Args:
        name: the name of the aside, unique on the page.
    """
    return st.container(key=f"{ASIDE}_{name}")


def clicker_is_free() -> bool:
    """Return whether a clicker's keys may press the page's own buttons; on a slide, they go to the next slide."""
    return not session.params(LectureParams).presents_as_slide(session.params(LessonParams).id)
