"""The attention browser of a changed run: after, as trained, and the difference of every head.

With `edits` it is the editor: a click or a drag on a cell changes what its row looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from attention_atlas.browser.payload import browser_payload
from attention_atlas.browser.piece_labels import visible
from attention_atlas.browser.wire import frame
from pages.ui.components.attention_browser import Shown, drawn_with_choice
from pages.ui.components.save_as import figure_component
from pages.ui.components.synced_state import StateRequest
from pages.ui.params.attention import AttentionParams
from pages.ui.state import session
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.values.trace import Trace

# A message of the editor that undoes the last change begins with this; the rest differs each time.
UNDO = "undo"

draw_changed = figure_component("attention_browser/changed_attention")
draw_editor = figure_component("attention_browser/editor")


@dataclass(frozen=True, eq=False)
class Version:
    """Run as the browser shows it: its trace, and what its heads do there."""

    trace: Trace
    metrics: HeadMetrics


def changed_attention(after: Version, before: Version, key: str, what: str) -> AttentionParams:
    """Draw the browser of both versions of one sentence and one translation; return what is chosen in it.

    Args:
        key: of the component.
        what: the change, in words.
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
        written: what the changed model writes; a large map shows it above.
        edits: the edits from one version to the other, as in an address.
        changed: receives the user's current edits, as untrusted as an address, or a text that begins with UNDO.
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
    """Return the messages of both versions in one.

    Args:
        asked: what to show.
        what: of `changed_attention`.
        edits, written: of `attention_editor`; None where nothing can be edited.
    """
    messages = [
        browser_payload(version.trace, version.metrics, vars(asked.state.choice), number=asked.number)
        for version in (after, before)
    ]
    sizes = [len(message) for message in messages]
    header = {"sizes": sizes, "what": what, "edits": edits, "written": visible(written)}
    return frame({**header, "experiment": session.carried()}, b"".join(messages))
