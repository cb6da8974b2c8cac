"""The pages, and how each of them runs within app.py."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping

import streamlit as st

from pages.ui.components.diagram import where_you_are
from pages.ui.lecture.bar import lecture_bar, opened_page
from pages.ui.lecture.figure import lecture_style
from pages.ui.runs.page_end import PageEnd
from pages.ui.shell.opening import PAGE_IS_THERE
from pages.ui.shell.warm_up import MODEL
from pages.ui.state.session import address, follow_address
from pages.ui.text.markup import markdown
from transformer.errors import AtlasError

ROUTED = "_routed"
FIRST = "translate"
# Titles by file, and so by address, in menus by what a page is for: all titles in one row do not fit a projector.
SECTIONS = {
    "Look": {
        "translate": "Translate",
        "encoder_attention": "Encoder attention",
        "masked_attention": "Masked attention",
        "cross_attention": "Cross attention",
        "decoding": "Decoding step by step",
        "language_model": "Language model",
        "compare_heads": "Compare heads",
        "gallery": "Gallery of heads",
    },
    "Ask": {
        "switch_heads_off": "Switch heads off",
        "change_attention": "Change what it looks at",
        "what_mattered": "What mattered",
    },
    "Understand": {
        "positional_encoding": "Positional encoding",
        "inside_a_layer": "Inside a layer",
        "backpropagation": "Backpropagation",
    },
    "Build": {
        "training_lab": "Training lab",
        "long_texts": "Long texts",
    },
    "Learn": {
        "lessons": "Lessons",
        "about": "About the model",
    },
}


def pages() -> dict[str, list[st.Page]]:
    """All pages by section."""
    return {
        section: [
            st.Page(f"pages/{name}.py", title=title, default=name == FIRST) for name, title in listed.items()
        ]
        for section, listed in SECTIONS.items()
    }


def navigate() -> None:
    """Run the chosen page; called by pages/ui/shell/frame.py alone."""
    sections = pages()
    page = st.navigation(sections, position="top")
    name = page.url_path or FIRST
    slide = opened_page(name)
    _mark_open(page, sections)
    # A slide's address belongs to its own page: on the page that is left, the back button would find it.
    follow_address(page.url_path, write=slide is None)
    lecture_style()
    lecture_bar(name, {name: title for listed in SECTIONS.values() for name, title in listed.items()}, FIRST)
    # With its address, which would otherwise be one more stop of the back button.
    open_page(slide, address())
    with st.container(key="where_you_are"):
        open_page(where_you_are(name))
    if not hasattr(sys.modules.get(MODEL), "Translator"):
        # Torch takes seconds to import, here or while the server gets warm; who comes meanwhile sees why it takes long.
        with st.spinner("Starting the Transformer …"):
            importlib.import_module(MODEL)
    st.html(PAGE_IS_THERE, unsafe_allow_javascript=True)
    st.session_state[ROUTED] = True
    try:
        page.run()
    except PageEnd:
        return
    except AtlasError as error:
        # What no part of a page has an answer to: a model's server that is gone, a device that is full.
        st.error(markdown(str(error)), icon=":material/error:")


def open_page(name: str | None, address: Mapping[str, str] | None = None) -> None:
    """Go to the page of a file, as a box of the drawing asks for; stay where it names none.

    Args:
        address: parameters that the page is opened with.
    """
    if any(name in listed for listed in SECTIONS.values()):
        st.switch_page(f"pages/{name}.py", query_params=address)


def _mark_open(page: st.Page, sections: dict[str, list[st.Page]]) -> None:
    """Let the menu that holds the open page name it: Streamlit marks it only inside, where it shows once opened."""
    at = next(number for number, listed in enumerate(sections.values(), 1) if page in listed)
    menu = f"[data-testid=stTopNav] > :nth-child({at}) [data-testid=stTopNavSection]"
    st.html(f"""<style>
    {menu} {{ box-shadow: inset 0 -2px currentColor; border-radius: 0; }}
    {menu} p::after {{ content: ": {page.title}"; font-weight: 600; }}
    </style>""")


def ensure_router() -> None:
    """First statement of every page: go through app.py.

    A server whose first visitor opens a deep link runs that page's file by itself, because it finds a folder
    named pages; registering the navigation turns that off, and the rerun comes through app.py.
    """
    if not st.session_state.pop(ROUTED, False):
        st.navigation(pages(), position="top")
        st.rerun()
