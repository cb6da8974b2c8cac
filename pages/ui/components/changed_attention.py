"""The attention browser for a changed model run: each head's map as trained, after the change, and the difference.

With `edits`, the browser is an editor: clicking or dragging on a cell changes that row's attention.
"""

from __future__ import annotations

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

# Prefix of an editor message that undoes the last change. The rest of the message is different each time.
UNDO = "undo"

draw_changed = figure_component("attention_browser/changed_attention")
draw_editor = figure_component("attention_browser/editor")


@dataclass(frozen=True, eq=False)
class Version:
    """One model run as shown in the browser: the trace, and the metrics of all heads."""

    trace: Trace
    metrics: HeadMetrics


def changed_attention(after: Version, before: Version, key: str, what: str) -> AttentionParams:
    """Show the browser with the maps before and after a change, and return the choice made in it.

    Args:
        after: the run with the change.
        before: the run without the change, on the same sentence and translation.
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
    """Show the browser like `changed_attention`, with rows that the user can edit.

    Args:
        after: the run with the edits.
        before: the run without the edits, on the same sentence and translation.
        key: the key of the component.
        what: a description of the edits.
        edits: the edits that lead from `before` to `after`, in URL format.
        translation: the changed model's translation, which is shown above a large map.
        changed: called with the user's new list of edits, which is untrusted, or with a text that starts with UNDO.
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
    """Return one message with the maps before and after a change.

    Args:
        after: the run with the change.
        before: the run without the change.
        request: the request with the state to show.
        what: a description of the change.
        edits: the edits in URL format; None if the user cannot edit.
        translation: the changed model's translation.
    """
    messages = [
        browser_payload(version.trace, version.metrics, vars(request.state.choice), number=request.number)
        for version in (after, before)
    ]
    sizes = [len(message) for message in messages]
    header = {"sizes": sizes, "what": what, "edits": edits, "written": displayable(translation)}
    return frame({**header, "experiment": session.embedded_experiment()}, b"".join(messages))
