"""The attention browser: a JavaScript component that shows the maps of all heads of one attention kind.

The component receives all maps at once, so it can show another head without a message from the server.
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

# Cached messages. After a click, the script usually repeats the previous message.
# Streamlit then sends only the message's hash.
MESSAGES = SharedResults(limit=32 * 2**20, identity={Trace: id, HeadMetrics: id})


@dataclass(frozen=True)
class BrowserState:
    """State that the attention browser shows: the user's choice, and the id of the sentence that the pins belong to."""

    sentence: str
    choice: AttentionParams

    def after(self, now: BrowserState) -> BrowserState:
        """Return the state that the browser shows after a switch to `now` without a new request from the server.

        The browser drops pins that belong to another sentence. `shift` is taken from `now`, because the browser has no
        control that changes it.
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
    """Show the attention browser for one attention kind, and return the head, display settings and pins chosen there.

    Args:
        trace: the trace of a model run.
        metrics: the metrics of all heads of the attention kind.
        of: the class of the parameters that store the choice. All attention kinds of a translator use the default.
        also: additional head names, which are not derived from the metrics.
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
        metrics: the metrics of all heads of the attention kind.
        key: the key of the component.
        draw: renders the component, given the key, the request with the state to show, and the callback for a new
            choice.
        of: the class of the parameters that store the choice.
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

    # Streamlit keeps this callback for the whole session, so it must not keep the trace or the metrics in memory.
    def store() -> None:
        message = st.session_state[key].get("choice")
        # The browser does not send `shift`, so keep the session's value.
        valid_choice = existing(replace(of.from_browser(message), shift=session.attention(of=of).shift))
        valid_choice = valid_choice.or_at(telling.layer, telling.head)
        if not isinstance(message, dict) or message.get("id") != now.sentence:
            # These pins belong to a sentence that is no longer shown.
            valid_choice = valid_choice.unpinned()
        SYNCED.received(message, BrowserState(now.sentence, valid_choice))
        # Changing display settings does not choose a head, so the next sentence still
        # opens at its most informative head.
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
    """Show small maps of all heads of one attention kind. If the user clicked one, choose its head and return True."""
    kind = metrics.kind
    opened = draw_browser(
        key=f"{kind}_glance",
        # The keyboard focus starts at the first head of the first layer.
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
    """Return the message that makes the component show a choice. Without additional head names, it is cached."""
    if also:
        return browser_payload(trace, metrics, vars(choice), number=number, glance=glance, also=also)
    return _message(trace, metrics, choice, number, glance).bytes


@dataclass(frozen=True, eq=False)
class _Message:
    """A cached message. It references its trace and metrics because the cache identifies them by id, and Python reuses
    the ids of deleted objects.
    """

    trace: Trace
    metrics: HeadMetrics
    bytes: bytes


@MESSAGES.remember()
def _message(trace: Trace, metrics: HeadMetrics, choice: AttentionParams, number: int, glance: bool) -> _Message:
    return _Message(trace, metrics, browser_payload(trace, metrics, vars(choice), number=number, glance=glance))
