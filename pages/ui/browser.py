"""The attention browser: one component of JavaScript that gets a kind of attention once and draws all of it."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from pages.ui import state
from pages.ui.choice import FIRST, Choice
from pages.ui.payload import payload
from transformer.analysis.heads import HeadMetrics, Metric, metrics_of
from transformer.trace import Trace

SOURCES = Path(__file__).parents[2] / "assets" / "attention_browser"


def script(*names: str) -> str:
    """Several files as one JavaScript module; each may use what those before it define."""
    return "\n".join((SOURCES / f"{name}.js").read_text(encoding="utf-8") for name in names)


SCRIPT = script(
    "payload", "colours", "surface", "sums", "map", "grid", "lines", "words", "controls", "saving", "panel", "keys",
    "browser",
)
STYLE = "\n".join((SOURCES / f"{name}.css").read_text(encoding="utf-8") for name in ("controls", "style"))
TITLES = {"encoder": "Encoder self-attention", "decoder": "Masked self-attention", "cross": "Cross-attention"}

# The choice that the browser was last asked to show, and the one it holds; they differ once the reader used it.
ASKED = "_asked"
HELD = "_held"


@dataclass(frozen=True)
class Asked:
    """A choice that the browser was asked to show, under a number that is never used again."""

    number: int
    choice: Choice


component = st.components.v2.component("attention_browser", js=SCRIPT, css=STYLE)


def attention_browser(trace: Trace, metrics: HeadMetrics) -> Choice:
    """Draw the browser of a kind, and say what is chosen in it.

    Args:
        trace: of a run.
        metrics: of its heads, which say the kind.
    """
    kind = metrics.kind
    layers, heads, queries, keys = trace.attention(kind).shape

    def existing(choice: Choice) -> Choice:
        return choice.within(layers, heads).pinned_within(queries, keys)

    chosen = existing(state.choice())
    if chosen != state.choice():
        state.choose(chosen)
        state.rewrite_address()
    key = f"{kind}_browser"
    # The browser, too, lets go of what does not exist.
    if state.was_drawn(key) and existing(replace(st.session_state.get(HELD, FIRST), shift=chosen.shift)) == chosen:
        asked = st.session_state[ASKED]
    else:
        # Chosen elsewhere: by a link, the back button, or on another page. The number makes it a new request.
        asked = Asked(st.session_state.get(ASKED, Asked(0, chosen)).number + 1, chosen)
    st.session_state[ASKED], st.session_state[HELD] = asked, chosen

    def told() -> None:
        # How alignments are read is chosen outside the browser.
        sent = Choice.from_browser(st.session_state[key].get("choice"))
        held = existing(replace(sent, shift=state.choice().shift))
        st.session_state[HELD] = held
        state.choose(held)

    component(
        key=key, data=browser_payload(trace, metrics, asked.choice, number=asked.number), on_choice_change=told,
        width="stretch",
    )
    return chosen


def glance(trace: Trace, metrics: HeadMetrics) -> bool:
    """Draw all heads of a kind, small; returns whether one was clicked, which is then chosen."""
    kind = metrics.kind
    opened = component(
        key=f"{kind}_glance", data=browser_payload(trace, metrics, FIRST, glance=True), on_open_change=lambda: None,
        width="stretch",
    ).open
    if opened is None:
        return False
    chosen = Choice.from_browser(opened).within(*trace.attention(kind).shape[:2])
    state.choose(replace(state.choice(), layer=chosen.layer, head=chosen.head))
    return True


def browser_payload(
    trace: Trace, metrics: HeadMetrics, choice: Choice, *, number: int = 0, glance: bool = False
) -> bytes:
    """Everything that the browser needs for one kind.

    Args:
        trace, metrics: what is looked at.
        choice: what to show first.
        number: the browser shows `choice` if it was asked under another number before, or never.
        glance: only the small maps.
    """
    kind = metrics.kind
    return payload(trace, kind, {
        "title": TITLES[kind], "asked": {"number": number, "choice": asdict(choice)}, "glance": glance,
        "id": sentence_id(trace), "texts": {"source": trace.source_text, "target": trace.target_text},
        "metrics": [_metric(metric, metrics.values[metric.name]) for metric in metrics_of(kind)],
    })


def sentence_id(trace: Trace) -> str:
    """Tells the data of one sentence from those of another."""
    return f"{zlib.crc32((trace.source_text + trace.target_text).encode('utf-8', 'surrogatepass')):08x}"


def _metric(metric: Metric, values: np.ndarray) -> dict[str, Any]:
    """A metric of all heads, with the value of a full bar; null where it does not apply."""
    known = values[~np.isnan(values)]
    return {
        "key": metric.name, "name": metric.title, "unit": metric.unit,
        "most": metric.high or max(float(known.max(initial=0.0)), 1e-9),
        "values": [None if np.isnan(value) else round(float(value), 6) for value in values.ravel()],
    }
