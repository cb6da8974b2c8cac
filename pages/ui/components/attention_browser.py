"""The attention browser: a JavaScript component that shows the maps of all heads of one attention kind.

The browser receives all maps at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType

import streamlit as st

from attention_atlas.browser.payload import AlsoNamed, browser_payload, sentence_id
from pages.ui.components.save_as import figure_component
from pages.ui.components.synced_state import StateRequest, SyncedState
from pages.ui.params.attention import AttentionParams
from pages.ui.runs.shared import SharedResults
from pages.ui.state import session
from transformer.analysis.heads.clearest_head import clearest_head
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.values.trace import Trace

# Cached messages. After a click, a script run usually needs the same message again, and Streamlit then sends only a
# hash.
MESSAGES = SharedResults(limit=32 * 2**20, identity={Trace: id, HeadMetrics: id})


@dataclass(frozen=True)
class BrowserState:
    """State shown in the browser: the user's choice, and the id of the sentence that any pins belong to."""

    sentence: str
    choice: AttentionParams

    def after(self, now: BrowserState) -> BrowserState:
        """Return the state that the browser reaches on its own once the server switches to `now`.

        The browser drops the pins of another sentence. `shift` comes from `now`, because the user sets it outside the
        browser.
        """
        choice = self.choice if self.sentence == now.sentence else self.choice.unpinned()
        return BrowserState(now.sentence, replace(choice, shift=now.choice.shift))


SYNCED: SyncedState[BrowserState] = SyncedState("_attention_browser")
draw_browser = figure_component("attention_browser/attention_browser")


def attention_browser(
    trace: Trace,
    metrics: HeadMetrics,
    of: type[AttentionParams] = AttentionParams,
    also: AlsoNamed = MappingProxyType({}),
) -> AttentionParams:
    """Show the attention browser for one attention kind, and return the head, display settings and pins chosen in it.

    Args:
        trace: the trace of a model run.
        metrics: the metrics of the heads to show, which determine the attention kind.
        of: the parameter class that stores the choice; a translator's three attention kinds share the default.
        also: head names in addition to those that the metrics give.
    """

    def draw(key: str, request: StateRequest[BrowserState], store: Callable[[], None]) -> None:
        draw_browser(
            key=key,
            on_choice_change=store,
            width="stretch",
            data=browser_message(trace, metrics, request.state.choice, number=request.number, also=also),
        )

    return draw_with_choice(trace, metrics, f"{of.PREFIX}{metrics.kind}_browser", draw, of)


def draw_with_choice(
    trace: Trace,
    metrics: HeadMetrics,
    key: str,
    draw: Callable[[str, StateRequest[BrowserState], Callable[[], None]], None],
    of: type[AttentionParams] = AttentionParams,
) -> AttentionParams:
    """Show a component in which the user chooses a head of one attention kind, and return the choice.

    Args:
        trace: the trace of a model run.
        metrics: the metrics of the heads to show, which determine the attention kind.
        key: the key of the component.
        draw: renders the component. It receives the key, the request with the state to show, and the callback for the
            component's state "choice".
        of: the parameter class that stores the choice.
    """
    kind = metrics.kind
    layers, heads, queries, keys = trace.attention(kind).shape

    def existing(choice: AttentionParams) -> AttentionParams:
        return choice.within(layers, heads).pinned_within(queries, keys)

    if existing(session.attention(kind, of)) != session.attention(kind, of):
        session.store_attention(existing(session.attention(kind, of)), kind)
        session.rewrite_address()
    telling = clearest_head(trace, metrics)
    current = session.attention(kind, of).or_at(telling.layer, telling.head)
    session.note_head(current)
    now, before = BrowserState(sentence_id(trace), current), SYNCED.shown
    stays = session.was_drawn(key) and before is not None and before.after(now) == now
    request = SYNCED.request(now, new=not stays)

    # The session keeps this callback until it expires, so the callback must not hold the trace or the metrics.
    def store() -> None:
        message = st.session_state[key].get("choice")
        # The browser does not set `shift`, so keep the session's value.
        valid_choice = existing(replace(of.from_browser(message), shift=session.attention(of=of).shift))
        valid_choice = valid_choice.or_at(telling.layer, telling.head)
        if not isinstance(message, dict) or message.get("id") != now.sentence:
            # The pins belong to a sentence that is no longer shown.
            valid_choice = valid_choice.unpinned()
        SYNCED.received(message, BrowserState(now.sentence, valid_choice))
        # A change of display settings is not a choice of a head. The next sentence then still opens at its most
        # informative head.
        unchosen = not session.attention(of=of).chosen and (valid_choice.layer, valid_choice.head) == (
            current.layer,
            current.head,
        )
        session.store_attention(valid_choice.unchosen() if unchosen else valid_choice, kind)

    draw(key, request, store)
    return current


def at_clearest_head(choice: AttentionParams, trace: Trace, metrics: HeadMetrics) -> AttentionParams:
    """Return the choice; if the user has not chosen a head, fill in the most informative one."""
    telling = clearest_head(trace, metrics)
    return choice.or_at(telling.layer, telling.head)


def show_small_maps(trace: Trace, metrics: HeadMetrics) -> bool:
    """Show small maps of all heads of one attention kind; if the user clicked one, choose that head and return True."""
    kind = metrics.kind
    opened = draw_browser(
        # The keyboard focus starts at layer 0, head 0.
        key=f"{kind}_glance",
        data=browser_message(trace, metrics, AttentionParams(layer=0, head=0), glance=True),
        on_open_change=lambda: None,
        width="stretch",
    ).open
    if opened is None:
        return False
    choice = AttentionParams.from_browser(opened).within(*trace.attention(kind).shape[:2])
    session.store_attention(replace(session.attention(), layer=choice.layer, head=choice.head))
    return True


def browser_message(
    trace: Trace,
    metrics: HeadMetrics,
    choice: AttentionParams,
    *,
    number: int = 0,
    glance: bool = False,
    also: AlsoNamed = MappingProxyType({}),
) -> bytes:
    """Return the `browser_payload` for a choice, cached for later script runs that show the same state."""
    if also:
        return browser_payload(trace, metrics, vars(choice), number=number, glance=glance, also=also)
    return _message(trace, metrics, choice, number, glance).bytes


@dataclass(frozen=True, eq=False)
class _Message:
    """A cached message. It also holds the objects that it was made from, so that Python does not reuse their ids."""

    trace: Trace
    metrics: HeadMetrics
    bytes: bytes


@MESSAGES.remember()
def _message(trace: Trace, metrics: HeadMetrics, choice: AttentionParams, number: int, glance: bool) -> _Message:
    return _Message(trace, metrics, browser_payload(trace, metrics, vars(choice), number=number, glance=glance))
