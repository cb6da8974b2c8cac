"""Decoding, step by step: one component of JavaScript that gets a road once and walks along it without the server."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import state
from pages.ui.choice import Choice
from pages.ui.decoding.course import Course
from pages.ui.decoding.message import message
from pages.ui.decoding.roads import kept_roads
from pages.ui.sentence import Reading
from transformer.road import Road
from transformer.tokenizer import Tokenizer
from transformer.translator import MAX_CHARACTERS, MAX_PIECES

ASSETS = Path(__file__).parents[3] / "assets"
# In the order in which the names they define are used; together they are one JavaScript module.
SCRIPTS = (
    *(f"attention_browser/{name}" for name in ("payload", "colours", "surface", "controls")),
    *(f"decoding_steps/{name}" for name in ("road", "strip", "what_if", "looks", "tree", "settings", "steps")),
)
SCRIPT = "\n".join((ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
STYLES = ("attention_browser/controls", "decoding_steps/style")
STYLE = "\n".join((ASSETS / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)

KEY = "decoding_steps"
# The course that the browser was last asked to show, and the one it holds; they differ once the reader used it.
ASKED = "_asked_course"
HELD = "_held_course"


@dataclass(frozen=True)
class Sight:
    """What the component shows: a course, and the layer and head looked at."""

    course: Course
    layer: int
    head: int

    def to_browser(self) -> dict[str, Any]:
        return {**asdict(self.course), "layer": self.layer, "head": self.head}


component = st.components.v2.component("decoding_steps", js=SCRIPT, css=STYLE)


def decoding_steps(reading: Reading, road: Road, course: Course) -> None:
    """Draw the road, step by step.

    Args:
        reading: the sentence.
        road: that the course leads along.
        course: which leads there.
    """
    model = reading.translator
    layers, heads = road.trace.cross.shape[:2]
    choice = state.choice().within(layers, heads)
    sight = Sight(course, choice.layer, choice.head)
    number, asked = st.session_state.get(ASKED, (0, sight))
    if not (state.was_drawn(KEY) and st.session_state.get(HELD) == sight):
        # Taken elsewhere: by a link, a typed word, or another sentence. The number makes it a new request.
        number, asked = number + 1, sight
    st.session_state[ASKED], st.session_state[HELD] = (number, asked), sight

    def told() -> None:
        sent = st.session_state[KEY].get("course")
        course = Course.from_browser(sent).within(model.config.target_vocabulary)
        seen = Choice.from_browser(sent).within(layers, heads)
        state.keep_all(course)
        state.choose(replace(state.choice(), layer=seen.layer, head=seen.head))
        st.session_state[HELD] = Sight(course, seen.layer, seen.head)

    def typed() -> None:
        course = with_typed(st.session_state[KEY].get("typed"), model.tokenizer)
        if course is not None:
            state.keep_all(course)

    component(
        key=KEY, width="stretch", on_course_change=told, on_typed_change=typed,
        data=message(
            road, kept_roads(reading, road, course), course, model.tokenizer,
            {"number": number, "course": asked.to_browser()}, (choice.layer, choice.head),
        ),
    )


def with_typed(typed: Any, tokenizer: Tokenizer) -> Course | None:
    """The course that goes on with a word that the reader typed; None if there is no word.

    Args:
        typed: from the browser, so untrusted: the course up to the word, and the word as `text`.
        tokenizer: makes pieces of it.
    """
    if not isinstance(typed, dict) or not isinstance(typed.get("text"), str):
        return None
    course = Course.from_browser(typed).within(tokenizer.size)
    # One piece more than can be written is enough to be answered.
    pieces = tokenizer.encode_ids(typed["text"][:MAX_CHARACTERS], end=False)[: MAX_PIECES + 1]
    return replace(course, forced=(*course.forced, *pieces)) if pieces else None
