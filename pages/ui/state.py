"""What a reader has typed and chosen, kept over pages and sentences, and mirrored in the address.

The address and the session are brought together once, at the start of a run. Streamlit's own binding of widgets to the
address loses values that came from a link when the page changes, and cannot be filled in by the script.
What comes from an address is untrusted and checked in `choice`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from pages.ui.address import Addressed
from pages.ui.architecture import Architecture
from pages.ui.choice import FIRST, Choice
from pages.ui.compare.comparison import Comparison
from pages.ui.decoding.course import Course
from pages.ui.inside.inspection import Inspection
from pages.ui.positions.encoding import Encoding

TEXT = "text"
TARGET = "target"
DEVICE = "device"

CHOICE = "_choice"
OWN = "_own"
SEEN = "_seen"
ADDRESS = "_address"
PAGE = "_page"
DRAWN = "_drawn"
WAS_DRAWN = "_was_drawn"

EXAMPLES: tuple[str, ...] = tuple(
    json.loads((Path(__file__).parents[2] / "assets" / "examples.json").read_text(encoding="utf-8"))
)
Kept = TypeVar("Kept", Comparison, Course, Encoding, Inspection, Architecture)
KEPT = (Comparison, Course, Encoding, Inspection, Architecture)
# Characters of a text that an address can hold; a text that can be translated is never so long.
LONGEST = 4_000


@dataclass(frozen=True)
class Seen:
    """What a page shows: a sentence, a translation to read instead of the model's own, what was chosen to look at,
    and what some pages keep of their own."""

    text: str = EXAMPLES[0]
    target: str = ""
    choice: Choice = FIRST
    own: tuple[Addressed | Comparison | Course, ...] = tuple(kept() for kept in KEPT)


def follow_address(page: str) -> None:
    """Bring session and address together; runs before any widget of `page`.

    An address that is not the one written last was opened: by a link, a reload, or the back button. One without a text
    comes from the menu and changes nothing; nor does one that comes with a changed widget, which was used before the
    browser had got the address written last.
    """
    before = st.session_state.get(SEEN, Seen())
    seen = Seen(
        st.session_state.get(TEXT, before.text), st.session_state.get(TARGET, before.target),
        st.session_state.get(CHOICE, before.choice), st.session_state.get(OWN, before.own),
    )
    opened = st.query_params.to_dict()
    if seen == before and opened != st.session_state.get(ADDRESS) and TEXT in opened:
        seen = Seen(
            opened[TEXT], opened.get(TARGET, ""), Choice.from_address(opened),
            tuple(kept.from_address(opened) for kept in KEPT),
        )
    else:
        if seen.text != before.text and seen.target == before.target:
            # A translation belongs to its sentence.
            seen = replace(seen, target="")
        if (seen.text, seen.target) != (before.text, before.target):
            # And so do the pieces that it should begin with.
            own = tuple(kept.from_the_start() if isinstance(kept, Course) else kept for kept in seen.own)
            seen = replace(seen, own=own)
    # A widget forgets what it held when its page is left, unless the script assigns it. Assigning takes away what is
    # being typed, so it is done only where something changes.
    for key, value in ((TEXT, seen.text), (TARGET, seen.target)):
        if page != st.session_state.get(PAGE) or st.session_state.get(key) != value:
            st.session_state[key] = value
    st.session_state[PAGE] = page
    st.session_state[WAS_DRAWN] = st.session_state.pop(DRAWN, None)
    st.session_state[CHOICE] = seen.choice
    st.session_state[OWN] = seen.own
    _write_address(seen, opened)


def rewrite_address() -> None:
    """Let the address say what is kept now; for pages that let go of what does not exist in what they have read."""
    seen = replace(st.session_state[SEEN], choice=choice(), own=st.session_state[OWN])
    _write_address(seen, st.session_state[ADDRESS])


def _write_address(seen: Seen, opened: dict[str, str]) -> None:
    st.session_state[SEEN] = seen
    written = {
        TEXT: seen.text, **({TARGET: seen.target} if seen.target else {}), **seen.choice.to_address(),
        **{name: value for kept in seen.own for name, value in kept.to_address().items()},
    }
    if sum(map(len, written.values())) > LONGEST:
        written.clear()
    if written != opened:
        st.query_params.from_dict(written)
    st.session_state[ADDRESS] = written


def use_example() -> None:
    """Callback of the list of examples."""
    if st.session_state.example in EXAMPLES:
        st.session_state[TEXT] = st.session_state.example
    st.session_state.example = None


def read_own() -> None:
    """Callback: let the model's own translation be read again."""
    st.session_state[TARGET] = ""


def choice() -> Choice:
    """What is chosen."""
    return st.session_state[CHOICE]


def choose(chosen: Choice) -> None:
    """Choose; for callbacks, which run before the page, and right before a change of page."""
    st.session_state[CHOICE] = chosen


def change(**changes: object) -> None:
    """Choose something else about what is shown; for callbacks."""
    choose(replace(choice(), **changes))


def own(page: type[Kept]) -> Kept:
    """What a page keeps of its own."""
    return next(kept for kept in st.session_state[OWN] if isinstance(kept, page))


def keep_all(changed: Addressed | Comparison | Course) -> None:
    """Keep other values of a page's own; for callbacks, and right before a change of page."""
    st.session_state[OWN] = tuple(changed if type(kept) is type(changed) else kept for kept in st.session_state[OWN])


def keep(page: type[Kept], **changes: object) -> None:
    """Keep another value of some fields; as `keep_all`."""
    keep_all(replace(own(page), **changes))


def held(page: type[Addressed], name: str, **values: object) -> dict[str, Any]:
    """Arguments of the widget that shows and changes a field of what a page keeps.

    Args:
        page, name: which field.
        values: `value`, where the widget should show another one than is kept.
    """
    key = f"{page.PREFIX}{name}"

    def told() -> None:
        value = page.checked(name, st.session_state[key])
        # A box that was emptied has no value: the one before stays.
        if value is not None:
            keep(page, **{name: value})

    value = values.get("value", getattr(own(page), name))
    return {"key": hold(key, list(value) if isinstance(value, tuple) else value), "on_change": told}


def bounded(page: type[Addressed], name: str, *, most: int | None = None, value: int | None = None) -> dict[str, Any]:
    """As `held`, for a widget that asks for a number within the limits of the field.

    Args:
        most: where the largest number is smaller than the field's limit.
        value: where the widget should show another one than is kept.
    """
    least, limit = page.limits(name)
    most = limit if most is None else most
    shown = min(getattr(own(page), name) if value is None else value, most)
    return {"min_value": least, "max_value": most, **held(page, name, value=shown)}


def hold(key: str, value: object) -> str:
    """Let the widget `key` hold a value that is kept elsewhere, and return the key.

    For widgets with a callback that keeps what they are changed to. Assigning takes away what is being typed, so it is
    done only where something changes.
    """
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    return key


def was_drawn(key: str) -> bool:
    """Whether the run before drew the same element, so that the browser still has it; notes that this one does."""
    st.session_state[DRAWN] = key
    return st.session_state.get(WAS_DRAWN) == key
