"""Roles of what a page draws: its main figure, words of the figure, an aside; the rest explains or controls.

Pages state only these roles. This module alone implements lecture mode, which shows the main figure as large as the
screen and nothing else. assets/lecture/page.css hides and enlarges by the roles. Charts, tables and components call
`large`.
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
# The most characters of a headline that a projector 1024 pixels wide shows in one row.
ROW = 72
# Pixels that the title of a slide takes from its figure; assets/lecture/lecture.css has the same number.
TITLE_HEIGHT = 46
STYLE = f"<style>{(ASSETS / 'lecture' / 'page.css').read_text(encoding='utf-8')}</style>"


def large() -> bool:
    """Return whether the page shows its main figure alone, as large as the screen."""
    return session.params(LectureParams).lecture


def lay_out(page: str) -> None:
    """In lecture mode, hide everything on the page except its main figure, and enlarge all type.

    Args:
        page: name of the open page's file.
    """
    if large():
        titled = session.params(LectureParams).heading(page)
        st.html(STYLE + (f"<style>:root {{ --slide-title: {TITLE_HEIGHT}px; }}</style>" if titled else ""))


def main_figure(*headline: str, when: bool = True, rows: int = 1) -> DeltaGenerator:
    """Return the container of a page's main figure; a page has one.

    Args:
        headline: Markdown, one line each: what the figure shows, and what to look for. It is for an audience that sees
            only the figure.
        when: whether it is the main figure, if a page chooses between several.
        rows: the most rows of a line; a longer line is cut, so that the figure stays high on the screen.
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
    """Return the places of a main figure and, on its left, of words that are read with it.

    Args:
        headline: as in `main_figure`.
        wide: whether the figure needs more of the width than most.
    """
    with main_figure(*headline):
        words, figure = st.columns([5, 7] if large() and not wide else [4, 8], gap="small" if large() else "large")
    return words, figure


def figure_words() -> DeltaGenerator:
    """Return the container of words that are part of the main figure and not about it; a page has one."""
    return st.container(key=WORDS, gap="xsmall")


def aside(name: str) -> DeltaGenerator:
    """Return a container inside or around the main figure for content that is not part of the figure.

    Args:
        name: the name of the aside; a page has one of that name.
    """
    return st.container(key=f"{ASIDE}_{name}")


def clicker_is_free() -> bool:
    """Whether the page's own buttons may take a clicker's keys; on a slide, those keys lead to the next slide."""
    return not session.params(LectureParams).presents_as_slide(session.params(LessonParams).id)
