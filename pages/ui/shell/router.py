"""Registers the pages with Streamlit, and runs the page that the user has chosen."""

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
from pages.ui.server.opening import REMOVAL_SCRIPT
from pages.ui.server.warm_up import SLOWEST_IMPORT
from pages.ui.state.session import address, address_on, follow_address, params
from pages.ui.text.server_paths import error_text
from transformer.errors import AtlasError
from transformer.files.paths import APP as APP_FOLDER

ROUTED_KEY = "_routed"
APP = "Attention Atlas"
# Pages that show their title, because they consist of text. On the remaining pages a title would push the maps down, so
# only the menu shows the title.
TITLED_PAGES = ("gallery", "lessons", "about")


def pages() -> dict[str, list[st.Page]]:
    """Return copies of all pages, by section; script runs need copies because `st.navigation` modifies page objects."""
    return {section: list(map(copy, section_pages)) for section, section_pages in _pages().items()}


@cache
def _pages() -> dict[str, list[st.Page]]:
    """Return all pages by section; cached, because creating a page searches for its file, which is slow."""
    return {
        section: [
            st.Page(APP_FOLDER / page.script, title=page.title, help=page.line, default=page.name == FIRST)
            for page in listed
        ]
        for section, listed in sections().items()
    }


def navigate() -> None:
    """Run the chosen page; called only by pages/ui/shell/frame.py."""
    sections = pages()
    page = st.navigation(sections, position="top")
    st.set_page_config(page_title=f"{page.title} · {APP}")
    name = page.url_path or FIRST
    slide = opened_page(name)
    _mark_open(page, sections)
    # If a slide is about to open on another page, do not write the slide's URL parameters yet. If they were written
    # now, the back button would return to the previous page with the slide's parameters.
    follow_address(slide or page.url_path, write=slide is None)
    # While a lesson is open, the Lessons page hides its title, because the lesson shows a title too.
    _show_heading(page.title, is_visible=name in TITLED_PAGES and (name != "lessons" or not params(LessonParams).id))
    lay_out(name)
    lecture_bar(name, {page.name: page.title for page in PAGES.values()}, FIRST)
    # Pass the URL parameters along, because writing them after the page change would add another history entry.
    open_page(slide, address())
    if not hasattr(sys.modules.get(SLOWEST_IMPORT), "Translator"):
        # Importing torch takes seconds, whether in this thread or in the warm-up, so show a spinner.
        with st.spinner("Starting the Transformer …"):
            importlib.import_module(SLOWEST_IMPORT)
    st.html(REMOVAL_SCRIPT, unsafe_allow_javascript=True)
    st.session_state[ROUTED_KEY] = True
    try:
        page.run()
        show_vote(PAGES)
    except PageEnd:
        return
    except AtlasError as error:
        # Errors that pages do not handle, such as an unreachable model server or a device that is out of memory.
        st.error(error_text(error), icon=":material/error:")


def open_page(name: str | None, address: Mapping[str, str] | None = None) -> None:
    """Go to another page and end this script run; do nothing if `name` is None or not a page.

    Args:
        name: the page's name, or None.
        address: the URL parameters for the new page.
    """
    if name is not None and name in PAGES:
        st.switch_page(PAGES[name].script, query_params=None if address is None else address_on(name, address))


def _mark_open(page: st.Page, sections: dict[str, list[st.Page]]) -> None:
    """Show the open page's title after its menu's name, because Streamlit marks the open page only inside the menu."""
    at = next(number for number, listed in enumerate(sections.values(), 1) if page in listed)
    menu = f"[data-testid=stTopNav] > :nth-child({at}) [data-testid=stTopNavSection]"
    st.html(f"""<style>
    {menu} {{ box-shadow: inset 0 -2px currentColor; border-radius: 0; }}
    {menu} p::after {{ content: ": {page.title}"; font-weight: 600; }}
    </style>""")


def _show_heading(title: str, *, is_visible: bool) -> None:
    """Show the page's title as the first heading; if not `is_visible`, only for screen readers and on phones."""
    with st.container(key="page_title" if is_visible else "page_title_unseen"):
        st.title(title, anchor=False)


def ensure_router() -> None:
    """Rerun the script through app.py if Streamlit has run the page's file directly; every page calls this first.

    If the first request to a server is a deep link, Streamlit discovers the folder named pages and runs a page's file
    directly. Registering the navigation turns this discovery off, and the rerun then goes through app.py.
    """
    if not st.session_state.pop(ROUTED_KEY, False):
        st.navigation(pages(), position="top")
        st.rerun()
