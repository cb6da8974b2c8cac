"""Registers the pages, and runs the page that the user chose."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from copy import copy
from functools import cache

import streamlit as st

from pages.ui.bets.vote import show_vote
from pages.ui.layout.roles import lay_out
from pages.ui.lecture.bar import lecture_bar, opened_page
from pages.ui.params.lessons import LessonParams
from pages.ui.params.pages import FIRST, PAGES, sections
from pages.ui.runs.page_end import PageEnd
from pages.ui.server.opening import PAGE_IS_THERE
from pages.ui.server.warm_up import MODEL
from pages.ui.state.session import address, address_on, follow_address, params
from pages.ui.text.server_paths import error_text
from transformer.errors import AtlasError
from transformer.files.paths import APP as APP_FOLDER

ROUTED = "_routed"
APP = "Attention Atlas"
# Text pages, which show their title. For other pages the menu shows it, because a title would push their map down.
HEADED = ("gallery", "lessons", "about")


def pages() -> dict[str, list[st.Page]]:
    """Return copies of all pages by section for one run, because `st.navigation` modifies the page objects."""
    return {section: list(map(copy, listed)) for section, listed in _pages().items()}


@cache
def _pages() -> dict[str, list[st.Page]]:
    """Return all pages by section, cached because creating a page looks for its file, which takes long."""
    return {
        section: [
            st.Page(APP_FOLDER / page.script, title=page.title, help=page.line, default=page.name == FIRST)
            for page in listed
        ]
        for section, listed in sections().items()
    }


def navigate() -> None:
    """Run the chosen page; only pages/ui/shell/frame.py calls this."""
    listed = pages()
    page = st.navigation(listed, position="top")
    st.set_page_config(page_title=f"{page.title} · {APP}")
    name = page.url_path or FIRST
    slide = opened_page(name)
    _mark_open(page, listed)
    # Do not write a slide's address on the page that is being left, where the back button would find it.
    follow_address(slide or page.url_path, write=slide is None)
    # Hide the title of the Lessons page while a lesson is open, because the lesson has its own title.
    _heading(page.title, seen=name in HEADED and (name != "lessons" or not params(LessonParams).id))
    lay_out(name)
    lecture_bar(name, {page.name: page.title for page in PAGES.values()}, FIRST)
    # Pass the address, because writing it later would add another history entry.
    open_page(slide, address())
    if not hasattr(sys.modules.get(MODEL), "Translator"):
        # Importing torch takes seconds, here or during the warm-up; the spinner tells waiting users the reason.
        with st.spinner("Starting the Transformer …"):
            importlib.import_module(MODEL)
    st.html(PAGE_IS_THERE, unsafe_allow_javascript=True)
    st.session_state[ROUTED] = True
    try:
        page.run()
        show_vote(PAGES)
    except PageEnd:
        return
    except AtlasError as error:
        # These are errors that no part of a page handles, such as a lost model server or a device out of memory.
        st.error(error_text(error), icon=":material/error:")


def open_page(name: str | None, address: Mapping[str, str] | None = None) -> None:
    """Go to the page of this name, as a box of the drawing requests; stay if there is no such page.

    Args:
        address: the query parameters with which the page is opened.
    """
    if name is not None and name in PAGES:
        st.switch_page(PAGES[name].script, query_params=None if address is None else address_on(name, address))


def _mark_open(page: st.Page, sections: dict[str, list[st.Page]]) -> None:
    """Show the open page's name on the menu that contains it, because Streamlit marks the page only inside the menu."""
    at = next(number for number, listed in enumerate(sections.values(), 1) if page in listed)
    menu = f"[data-testid=stTopNav] > :nth-child({at}) [data-testid=stTopNavSection]"
    st.html(f"""<style>
    {menu} {{ box-shadow: inset 0 -2px currentColor; border-radius: 0; }}
    {menu} p::after {{ content: ": {page.title}"; font-weight: 600; }}
    </style>""")


def _heading(title: str, *, seen: bool) -> None:
    """Draw the title as the page's first heading, visible or only for screen readers and phones with a closed menu."""
    with st.container(key="page_title" if seen else "page_title_unseen"):
        st.title(title, anchor=False)


def ensure_router() -> None:
    """Make sure that the page runs through app.py; the first statement of every page calls this.

    If the first request to a server is a deep link, Streamlit finds the folder named pages and runs that page's file by
    itself. Registering the navigation turns that off, and the rerun goes through app.py.
    """
    if not st.session_state.pop(ROUTED, False):
        st.navigation(pages(), position="top")
        st.rerun()
