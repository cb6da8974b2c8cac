"""The attention browser of a changed run: every head's map after the change, as trained, and their difference.

With `edits` it is the editor: a click or a drag on a cell changes what its row looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from attention_atlas.browser.payload import browser_payload
from attention_atlas.browser.token_labels import visible
from attention_atlas.browser.wire import frame
from pages.ui.components.attention_browser import Shown, drawn_with_choice
from pages.ui.components.save_as import figure_component
from pages.ui.components.synced_state import StateRequest
from pages.ui.params.attention import AttentionParams
from pages.ui.state import session
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.values.trace import Trace

# Prefix of an editor message that undoes the last change; the rest of the message differs each time.
UNDO = "undo"

draw_changed = figure_component("attention_browser/changed_attention")
draw_editor = figure_component("attention_browser/editor")


@dataclass(frozen=True, eq=False)
class Version:
    """A run as the browser shows it: its trace, and the metrics of its heads."""

    trace: Trace
    metrics: HeadMetrics


def changed_attention(after: Version, before: Version, key: str, what: str) -> AttentionParams:
    """Draw the browser with both versions of a run on one sentence and translation; return the choice made in it.

    Args:
        key: the key of the component.
        what: a description of the change.
    """

    def draw(key: str, asked: StateRequest[Shown], store: Callable[[], None]) -> None:
        data = changed_payload(after, before, asked, what)
        draw_changed(key=key, data=data, on_choice_change=store, width="stretch")

    return drawn_with_choice(before.trace, before.metrics, key, draw)


def attention_editor(
    after: Version, before: Version, key: str, what: str, edits: str, written: str, changed: Callable[[str], None]
) -> AttentionParams:
    """Draw the browser like `changed_attention`, with rows that can be edited.

    Args:
        written: the translation of the changed model, which is shown above a large map.
        edits: the edits that lead from one version to the other, in their address format.
        changed: called with the user's current edits, which are untrusted, or with a text that begins with UNDO.
    """

    def edited() -> None:
        sent = st.session_state[key].get("edited")
        if isinstance(sent, str):
            changed(sent)

    def draw(key: str, asked: StateRequest[Shown], store: Callable[[], None]) -> None:
        draw_editor(
            key=key,
            data=changed_payload(after, before, asked, what, edits, written),
            on_choice_change=store,
            on_edited_change=edited,
            width="stretch",
        )

    return drawn_with_choice(before.trace, before.metrics, key, draw)


def changed_payload(
    after: Version, before: Version, asked: StateRequest[Shown], what: str, edits: str | None = None, written: str = ""
) -> bytes:
    """Return one message that contains those of both versions.

    Args:
        asked: the request with the state to show.
        what: as for `changed_attention`.
        edits, written: as for `attention_editor`; `edits` is None if nothing can be edited.
    """
    messages = [
        browser_payload(version.trace, version.metrics, vars(asked.state.choice), number=asked.number)
        for version in (after, before)
    ]
    sizes = [len(message) for message in messages]
    header = {"sizes": sizes, "what": what, "edits": edits, "written": visible(written)}
    return frame({**header, "experiment": session.carried()}, b"".join(messages))
