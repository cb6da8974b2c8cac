"""The attention browser: a JavaScript component that receives all maps of one kind of attention once and draws them."""

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
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.telling import telling_head
from transformer.values.trace import Trace

# Cached messages: a run after a click usually needs the same bytes again, and Streamlit then sends only their name.
MESSAGES = SharedResults(limit=32 * 2**20, identity={Trace: id, HeadMetrics: id})


@dataclass(frozen=True)
class Shown:
    """State that the browser shows: a choice, and the id of the sentence that its pins belong to."""

    sentence: str
    choice: AttentionParams

    def then(self, now: Shown) -> Shown:
        """Return the state that the browser reaches on its own at `now`: it drops pins of another sentence.

        `shift` is taken from `now`, because the user sets it outside the browser.
        """
        choice = self.choice if self.sentence == now.sentence else self.choice.unpinned()
        return Shown(now.sentence, replace(choice, shift=now.choice.shift))


SYNCED: SyncedState[Shown] = SyncedState("_attention_browser")
draw_browser = figure_component("attention_browser/attention_browser")


def attention_browser(
    trace: Trace,
    metrics: HeadMetrics,
    of: type[AttentionParams] = AttentionParams,
    also: AlsoNamed = MappingProxyType({}),
) -> AttentionParams:
    """Draw the browser for one kind of attention; return the head, display settings and pins chosen in it.

    Args:
        trace: the trace of a run.
        metrics: the metrics of the heads to show; they determine the kind.
        of: the class of parameters that holds the choice; a translator's three kinds share the default.
        also: names of heads in addition to those for their behaviour in this run.
    """

    def draw(key: str, asked: StateRequest[Shown], store: Callable[[], None]) -> None:
        draw_browser(
            key=key,
            on_choice_change=store,
            width="stretch",
            data=browser_message(trace, metrics, asked.state.choice, number=asked.number, also=also),
        )

    return drawn_with_choice(trace, metrics, f"{of.PREFIX}{metrics.kind}_browser", draw, of)


def drawn_with_choice(
    trace: Trace,
    metrics: HeadMetrics,
    key: str,
    draw: Callable[[str, StateRequest[Shown], Callable[[], None]], None],
    of: type[AttentionParams] = AttentionParams,
) -> AttentionParams:
    """Draw a component in which the user chooses a head of one kind; return the choice.

    Args:
        trace, metrics: as for `attention_browser`.
        key: the key of the component.
        draw: draws the component. Its arguments are the key, the state to show if that request is new, and the callback
            of the component's state "choice".
        of: as for `attention_browser`.
    """
    kind = metrics.kind
    layers, heads, queries, keys = trace.attention(kind).shape

    def existing(choice: AttentionParams) -> AttentionParams:
        return choice.within(layers, heads).pinned_within(queries, keys)

    if existing(session.attention(kind, of)) != session.attention(kind, of):
        session.store_attention(existing(session.attention(kind, of)), kind)
        session.rewrite_address()
    telling = telling_head(trace, metrics)
    chosen = session.attention(kind, of).or_at(telling.layer, telling.head)
    session.note_head(chosen)
    now, before = Shown(sentence_id(trace), chosen), SYNCED.shown
    stays = session.was_drawn(key) and before is not None and before.then(now) == now
    asked = SYNCED.request(now, new=not stays)

    # A session keeps this callback until it expires, so it holds neither the trace nor the metrics.
    def store() -> None:
        sent = st.session_state[key].get("choice")
        # The browser does not set `shift`, so keep the value of the session.
        shown = existing(replace(of.from_browser(sent), shift=session.attention(of=of).shift))
        shown = shown.or_at(telling.layer, telling.head)
        if not isinstance(sent, dict) or sent.get("id") != now.sentence:
            # The tokens were pinned in a sentence that is no longer shown.
            shown = shown.unpinned()
        SYNCED.received(sent, Shown(now.sentence, shown))
        # Changing only display settings does not choose a head, so the next sentence opens at its most informative one.
        unchosen = not session.attention(of=of).chosen and (shown.layer, shown.head) == (chosen.layer, chosen.head)
        session.store_attention(shown.unchosen() if unchosen else shown, kind)

    draw(key, asked, store)
    return chosen


def at_telling_head(choice: AttentionParams, trace: Trace, metrics: HeadMetrics) -> AttentionParams:
    """Return the choice; if the user chose no head, set the most informative one."""
    telling = telling_head(trace, metrics)
    return choice.or_at(telling.layer, telling.head)


def glance(trace: Trace, metrics: HeadMetrics) -> bool:
    """Draw small maps of all heads of a kind; return whether the user clicked one, which is then chosen."""
    kind = metrics.kind
    opened = draw_browser(
        # The keyboard focus starts at the first head.
        key=f"{kind}_glance",
        data=browser_message(trace, metrics, AttentionParams(layer=0, head=0), glance=True),
        on_open_change=lambda: None,
        width="stretch",
    ).open
    if opened is None:
        return False
    chosen = AttentionParams.from_browser(opened).within(*trace.attention(kind).shape[:2])
    session.store_attention(replace(session.attention(), layer=chosen.layer, head=chosen.head))
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
    """Return the `browser_payload` of a choice, cached for later runs that show the same state."""
    if also:
        return browser_payload(trace, metrics, vars(choice), number=number, glance=glance, also=also)
    return _message(trace, metrics, choice, number, glance).bytes


@dataclass(frozen=True, eq=False)
class _Message:
    """A message together with the objects that it was made from, which keeps their ids from being reused."""

    trace: Trace
    metrics: HeadMetrics
    bytes: bytes


@MESSAGES.remember()
def _message(trace: Trace, metrics: HeadMetrics, choice: AttentionParams, number: int, glance: bool) -> _Message:
    return _Message(trace, metrics, browser_payload(trace, metrics, vars(choice), number=number, glance=glance))
