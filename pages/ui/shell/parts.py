"""The control that switches between the parts of a page."""

from pages.ui.params.fields import Params
from pages.ui.params.pages import PAGES
from pages.ui.state import session
from pages.ui.state.bind import segments


def pick_part(page: str, params: type[Params], **languages: str) -> str:
    """Show the control that switches between a page's parts, if there are several, and return the chosen part's name.

    Args:
        page: the page's name.
        params: the page's parameter class, whose field `part` stores the choice.
        languages: the names of the source and target languages, as `source` and `target`; needed if a part's title
            contains these placeholders.
    """
    parts = PAGES[page].parts
    if len(parts) > 1:
        titles = {name: part.title.format(**languages) for name, part in parts.items()}
        segments(PAGES[page].title, titles, params, "part", label_visibility="collapsed", wrap=True)
    return vars(session.params(params))["part"]
