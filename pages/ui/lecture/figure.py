"""What a lecture shows of a page: its main figure, and above it two lines."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.params.lecture import LectureParams
from pages.ui.state import session
from transformer.files.paths import ASSETS

MAIN = "main_figure"
LINES = "lecture_lines"
# Pixels that the title of a slide takes from its figure; as in assets/lecture/lecture.css.
TITLE_HEIGHT = 46
# Holds what is no chart, and is read in a lecture too; it exists once a page.
TEXT = "hall_text"
STYLE = f"<style>{(ASSETS / 'lecture' / 'page.css').read_text(encoding='utf-8')}</style>"


def presented() -> bool:
    """Whether the page is shown in a lecture."""
    return session.params(LectureParams).lecture


def lecture_style(page: str) -> None:
    """Take everything off the page that is not its main figure, and make all type large.

    Args:
        page: name of the open page's file.
    """
    if presented():
        titled = session.params(LectureParams).heading(page)
        st.html(STYLE + (f"<style>:root {{ --slide-title: {TITLE_HEIGHT}px; }}</style>" if titled else ""))


def main_figure(*lines: str, when: bool = True) -> DeltaGenerator:
    """The container of a page's main figure; a page has one.

    Args:
        lines: Markdown that stands above the figure in a lecture, each as one line: the sentence, and what to look for.
        when: whether it is the main figure, where a page chooses between several.
    """
    if not when:
        return st.container()
    place = st.container(key=MAIN)
    lines = tuple(filter(None, lines))
    if lines and presented():
        place.container(key=LINES, gap=None).markdown("\n\n".join(lines))
    return place


def text_for_hall() -> DeltaGenerator:
    """The container of words that belong to the main figure; a lecture shows no others."""
    return st.container(key=TEXT, gap="xsmall")
