"""The control that switches between the parts of a page."""

from __future__ import annotations

import streamlit as st

from pages.ui.params.fields import Params
from pages.ui.params.pages import PAGES
from pages.ui.state import session
from pages.ui.state.bind import bind


def pick_part(page: str, params: type[Params], **languages: str) -> str:
    """Show the control that switches between a page's parts, if it has several, and return the chosen part's name.

    Args:
        page: the page's name.
        params: the page's parameter class, whose field `part` stores the choice.
        languages: the language names `source` and `target`, needed if a part's title contains them.
    """
    parts = PAGES[page].parts
    if len(parts) > 1:
        st.segmented_control(
            PAGES[page].title,
            tuple(parts),
            format_func=lambda part: parts[part].title.format(**languages),
            required=True,
            label_visibility="collapsed",
            wrap=True,
            **bind(params, "part"),
        )
    return vars(session.params(params))["part"]
