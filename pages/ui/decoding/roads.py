"""The roads that a reader has taken through one sentence, the model's own first."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import streamlit as st

from pages.ui import inference, state
from pages.ui.decoding.course import Course
from pages.ui.plain import markdown
from pages.ui.sentence import Reading
from transformer.errors import AtlasError
from transformer.road import Road

ROADS = "_roads"
# As many as a list on a screen can hold; the first one always stays.
MOST_ROADS = 8
DECODED = ("method", "size", "alpha", "temperature", "top_k", "top_p", "seed", "forced", "never")


@dataclass(frozen=True)
class Kept:
    """A road that was taken.

    Attributes:
        pieces: ids, the end symbol included.
        text: what they spell.
        log_prob: nats.
        course: leads there again.
        given: by the reader, as a translation to be read.
    """

    pieces: tuple[int, ...]
    text: str
    log_prob: float
    course: Course
    given: bool = False

    def parts_from(self, other: Kept) -> int:
        """The step at which it parts from another road; its length if it never does."""
        pairs = zip(self.pieces, other.pieces, strict=False)
        return next((step for step, (own, its) in enumerate(pairs) if own != its), len(self.pieces))


def road_taken(reading: Reading) -> tuple[Road, Course]:
    """The road that the reader's course leads along, decoded once, and the course, kept to what there is.

    A course that leads nowhere is answered by one message, and the model's own road is taken.
    """
    model = reading.translator
    course = state.own(Course).within(model.config.target_vocabulary)
    forced = course.forced
    if course.free and reading.given:
        # A translation that the reader gave is a road whose every piece is forced.
        forced = tuple(model.tokenizer.encode_ids(reading.trace.target_text))
    asked = (model, model.version, model.device, reading.trace.source_text, course.way)
    try:
        road = inference.road(*asked, forced, frozenset(course.never))
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        course = course.from_the_start()
        road = inference.road(*asked, (), frozenset())
    return road, replace(course, step=min(course.step, len(road.found.pieces) - 1))


def kept_roads(reading: Reading, road: Road, course: Course) -> tuple[Kept, ...]:
    """All roads taken through this sentence, with this one."""
    model, own = reading.translator, reading.own
    pieces = tuple(piece.id for piece in own.predicted_pieces)
    # Where another translation is read, only its pieces lead back to the model's own.
    leads = Course(forced=pieces if reading.given else ())
    first = Kept(pieces, own.target_text, float(own.log_probs.sum()), leads)
    sentence = (model.version, model.device, own.source_text, reading.given and reading.trace.target_text)
    before, others = st.session_state.get(ROADS, (None, ()))
    others = others if before == sentence else ()
    taken = Kept(
        tuple(piece.id for piece in road.found.pieces), road.found.text, float(road.trace.log_probs.sum()),
        replace(course, step=0, node=0), given=reading.given and course.free,
    )
    if taken.pieces not in (first.pieces, *(other.pieces for other in others)):
        others = (*others, taken)[1 - MOST_ROADS :]
    st.session_state[ROADS] = (sentence, others)
    return (first, *others)


def decoded(course: Course) -> dict[str, object]:
    """The part of a course that decides what is written."""
    return {name: value for name, value in asdict(course).items() if name in DECODED}
