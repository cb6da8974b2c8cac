"""The attention browser for a changed model run: each head's maps before and after the change, and their difference.

An editor lets the user change a row's attention by clicking or dragging on the row's cells.
"""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from attention_atlas.browser.payload import browser_payload
from attention_atlas.browser.token_labels import displayable
from attention_atlas.browser.wire import frame
from pages.ui.components.attention_browser import BrowserState, draw_with_choice
from pages.ui.components.save_as import figure_component
from pages.ui.components.synced_state import StateRequest
from pages.ui.params.attention import AttentionParams
from pages.ui.state import session
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.values.trace import Trace

# Prefix of an editor message that undoes the last change. A varying suffix makes each message unique.
UNDO = "undo"

draw_changed = figure_component("attention_browser/changed_attention")
draw_editor = figure_component("attention_browser/editor")


@dataclass(frozen=True, eq=False)
class Version:
    """A model run before or after a change: the trace, and the metrics of all heads."""

    trace: Trace
    metrics: HeadMetrics


def changed_attention(after: Version, before: Version, key: str, what: str) -> AttentionParams:
    """Show the attention maps before and after a change, and return the head and pins that the user chose.

    Args:
        after: the model run with the change.
        before: the model run without the change, on the same sentence and translation.
        key: the key of the component.
        what: a description of the change.
    """

    def draw(key: str, request: StateRequest[BrowserState], store: Callable[[], None]) -> None:
        data = changed_payload(after, before, request, what)
        draw_changed(key=key, data=data, on_choice_change=store, width="stretch")

    return draw_with_choice(before.trace, before.metrics, key, draw)


def attention_editor(
    after: Version, before: Version, key: str, what: str, edits: str, translation: str, changed: Callable[[str], None]
) -> AttentionParams:
    """Show the attention maps before and after the user's edits, let the user edit rows, and return the chosen head,
    rows and columns.

    Args:
        after: the model run with the edits.
        before: the model run without the edits, on the same sentence and translation.
        key: the key of the component.
        what: a description of the edits.
        edits: the edits, in URL format.
        translation: the changed model's translation, which is shown above a large map.
        changed: called with an untrusted message: the new list of edits, or a text that starts with UNDO.
    """

    def edited() -> None:
        message = st.session_state[key].get("edited")
        if isinstance(message, str):
            changed(message)

    def draw(key: str, request: StateRequest[BrowserState], store: Callable[[], None]) -> None:
        draw_editor(
            key=key,
            data=changed_payload(after, before, request, what, edits, translation),
            on_choice_change=store,
            on_edited_change=edited,
            width="stretch",
        )

    return draw_with_choice(before.trace, before.metrics, key, draw)


def changed_payload(
    after: Version,
    before: Version,
    request: StateRequest[BrowserState],
    what: str,
    edits: str | None = None,
    translation: str = "",
) -> bytes:
    """Return a message with the attention maps before and after a change.

    Args:
        after: the model run with the change.
        before: the model run without the change.
        request: the request with the state to show.
        what: a description of the change.
        edits: the edits, in URL format; None if the user cannot edit.
        translation: the changed model's translation.
    """
    messages = [
        browser_payload(version.trace, version.metrics, vars(request.state.choice), number=request.number)
        for version in (after, before)
    ]
    sizes = [len(message) for message in messages]
    header = {"sizes": sizes, "what": what, "edits": edits, "written": displayable(translation)}
    return frame({**header, "experiment": session.embedded_experiment()}, b"".join(messages))
