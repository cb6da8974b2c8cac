"""The lecturer's controls, on every page: lecture mode, slides, and the page's QR code."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from attention_atlas.browser.token_labels import displayable
from pages.ui.components.bundle import component
from pages.ui.heads.kinds import head_title
from pages.ui.layout.roles import clicker_is_free
from pages.ui.lecture.qr_code import NO_CODE, full_address, local_only, qr_code
from pages.ui.params.attention import MAX_INDEX, AttentionParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.language_model import ContinuationParams, LanguageModelParams, TextHeadParams
from pages.ui.params.lecture import NO_SLIDE, LectureParams
from pages.ui.params.lessons import SHOWN, LessonParams
from pages.ui.params.pages import FIRST
from pages.ui.params.sentence_list import ListParams
from pages.ui.params.slides import LONGEST_TITLE, MAX_BYTES, Slide, Slides
from pages.ui.params.state import TEXT
from pages.ui.params.subject import LANGUAGE_MODEL, SubjectParams
from pages.ui.params.switch_heads_off import OffParams
from pages.ui.params.translate import FilmParams
from pages.ui.state import session
from pages.ui.text.markup import markdown

KEY = "lecture"
# Session-state key of the opened slide's page. A script run that shows this page deletes the key.
OPENED_SLIDE = "_opened_slide"
TOO_LONG = "This page was not added, because its sentence makes the URL too long. Shorten the sentence."
LIST_LEFT_OUT = "This slide contains only the current sentence; your list of sentences would make the URL too long."
# Pages with buttons that a presentation clicker presses, unless the page is shown as a slide.
STEP_PAGES = ("lessons",)
HEAD_PAGES = (
    "encoder_attention",
    "masked_attention",
    "cross_attention",
    "decoding",
    "inside_a_layer",
    "change_attention",
)
# Pages that can show either the translator or a language model. If a slide's page shows a language model, the slide's
# description names the language model's text and attention head.
ANY_MODEL_PAGES = ("compare_heads", "inside_a_layer")

draw_bar = component("lecture/lecture")


def opened_page(page: str) -> str | None:
    """Return the page to switch to because the user opened a slide; None if there is no need to switch.

    No switch is needed if no slide was opened or if `page` is the slide's page. The session keeps the slide's page
    until that page is open, because Streamlit may interrupt a script run before it switches pages.
    """
    if st.session_state.get(OPENED_SLIDE) == page:
        del st.session_state[OPENED_SLIDE]
    return st.session_state.get(OPENED_SLIDE)


def show_slide(number: int | None, *, present: bool = True, at_end: bool = False) -> None:
    """Callback: open a slide; do nothing if the slide does not exist.

    Args:
        number: the 1-based number of the slide; None for no slide.
        present: whether to turn on lecture mode.
        at_end: whether to open the slide's page at the last step, as when going back from the next slide.
    """
    params = session.params(LectureParams)
    slide = params.shown(number or NO_SLIDE)
    if slide is not None:
        lecture = params.at(number or NO_SLIDE)
        address = dict(slide.parameters)
        ends = {
            "lessons": replace(LessonParams.from_address(address), answer=SHOWN),
            "decoding": replace(DecodingParams.from_address(address), step=MAX_INDEX),
            "language_model": replace(ContinuationParams.from_address(address), step=MAX_INDEX),
            FIRST: FilmParams.from_address(address).at_end(),
        }
        end = [ends[slide.page]] if at_end and slide.page in ends else []
        session.open_address(address, lecture if present else replace(lecture, lecture=False), *end)
        session.refill_boxes()
        st.session_state[OPENED_SLIDE] = slide.page


def lecture_bar(page: str, titles: Mapping[str, str], first: str) -> None:
    """Show the lecturer's controls.

    Args:
        page: the name of the open page.
        titles: the titles of all pages, by name.
        first: the name of the page whose URL has no path.
    """

    def path(name: str) -> str:
        return "" if name == first else name

    def act() -> None:
        message = st.session_state[KEY].get("act")
        if isinstance(message, dict):
            _act(message, page)

    params = session.params(LectureParams)
    slides = params.slides
    start = params.at(1).to_address()
    with st.container(key="lecture_bar"):
        draw_bar(
            key=KEY,
            on_act_change=act,
            width="stretch",
            data={
                "lecture": params.lecture,
                "slide": params.slide,
                "stepped": _step(page),
                "heading": params.heading(page),
                "longest": LONGEST_TITLE,
                "slides": [
                    {"title": slide.title, "page": titles[slide.page], "text": _describe_slide(slide)}
                    for slide in slides.slides
                ],
                "file": slides.to_file() if slides else "",
                "limit": MAX_BYTES,
                "problem": slides.problem,
                "start": f"{path(slides.slides[0].page)}?{_query(slides.slides[0], start)}" if slides else "",
                "code": _qr_code(path(page), titles) if params.qr else None,
            },
        )
    if slides.problem:
        st.warning(markdown(slides.problem), icon=":material/edit:")


def _act(message: Mapping[str, Any], page: str) -> None:
    """Perform the action that an untrusted browser message requests."""
    # The user has had time to read the last error message, so clear it.
    params = session.params(LectureParams)
    params = replace(params, slides=replace(params.slides, problem=""))
    session.store(params)

    def number(name: str) -> int:
        value = message.get(name)
        return value if type(value) is int and abs(value) <= len(params.slides) else NO_SLIDE

    def listed(slides: Slides) -> None:
        session.store(params.with_slides(slides))

    def add() -> None:
        address = session.page_address(*session.shown_head())
        if not address:
            listed(replace(params.slides, problem=TOO_LONG))
            return
        own_list = ListParams("\n".join(session.sentence_list().sentences)).to_address()
        added = params.slides.added(Slide.of(page, address | own_list).carrying(session.embedded_experiment()))
        if added.problem and own_list:
            added = params.slides.added(Slide.of(page, address).carrying(session.embedded_experiment()))
            added = replace(added, problem=added.problem or LIST_LEFT_OUT)
        listed(added)

    def load() -> None:
        text = message.get("text")
        slides = Slides.from_file(text if isinstance(text, str) else "")
        # If the file cannot be read, keep the current slides.
        listed(replace(params.slides, problem=slides.problem) if slides.problem else slides)

    def entitle() -> None:
        text = message.get("text")
        if isinstance(text, str):
            # Stay on the current slide, because only the title changes.
            session.update(LectureParams, slides=params.slides.titled(number("slide") - 1, text))

    actions: dict[object, Callable[[], None]] = {
        "present": lambda: session.update(LectureParams, lecture=True, qr=False),
        "leave": lambda: session.update(LectureParams, lecture=False, qr=False),
        "code": lambda: session.update(LectureParams, qr=not params.qr),
        "open": lambda: show_slide(number("slide"), present=params.lecture, at_end=number("by") < 0),
        "start": lambda: show_slide(1),
        "move": lambda: listed(params.slides.moved(number("slide") - 1, number("by"))),
        "remove": lambda: listed(params.slides.without(number("slide") - 1)),
        "add": add,
        "load": load,
        "title": entitle,
    }
    action = actions.get(message.get("what") if isinstance(message.get("what"), str) else None)
    if action is not None:
        action()


def _describe_slide(slide: Slide) -> str:
    """Return a description of a slide for the lecturer's list of slides.

    The URL of a slide also contains the settings of other pages. The description omits them.
    """
    address = dict(slide.parameters)
    if slide.page in STEP_PAGES:
        # A lesson ignores the sentence in the URL.
        lesson = LessonParams.from_address(address)
        return f"{lesson.id.replace('_', ' ')}, step {lesson.shown_step + 1}" if lesson.id else ""
    what, text, of = "", address[TEXT], AttentionParams
    subject = SubjectParams.from_address(address).subject if slide.page in ANY_MODEL_PAGES else slide.page
    if subject == LANGUAGE_MODEL:
        text, of = LanguageModelParams.from_address(address).text, TextHeadParams
    if frame := FilmParams.from_address(address).frame * (slide.page == FIRST):
        what = f"film, frame {frame}"
    elif slide.page == "switch_heads_off":
        what = _describe_switched(OffParams.from_address(address))
    elif slide.page in HEAD_PAGES:
        choice = of.from_address(address)
        what = f"layer {max(choice.layer, 0) + 1}, head {max(choice.head, 0) + 1}" if choice.chosen else ""
    if slide.page == "decoding":
        what = ", ".join(filter(None, [what, f"step {DecodingParams.from_address(address).step + 1}"]))
    return " · ".join(filter(None, [what, displayable(text)]))


def _describe_switched(off: OffParams) -> str:
    heads = off.heads.heads
    if not heads:
        return ""
    heads_text = head_title(*heads[0]) if len(heads) == 1 else f"{len(heads)} heads"
    return f"{heads_text} {'changed' if off.gate else 'off'}"


def _step(page: str) -> str:
    """Return the open lesson step, such as "Step 2"; empty if no lesson is open, or if the clicker controls slides."""
    lesson = session.params(LessonParams)
    if page not in STEP_PAGES or not lesson.id or not clicker_is_free():
        return ""
    # Omit the total number of steps, because reading it from the lesson would import torch.
    return f"Step {lesson.shown_step + 1}"


def _query(slide: Slide, more: Mapping[str, str]) -> str:
    return str(Slide.of(slide.page, dict(slide.parameters) | dict(more))).partition("?")[2]


def _qr_code(path: str, pages: Container[str]) -> dict[str, str]:
    """Return the QR code and the URL that open this page in lecture mode, and a warning if phones cannot open the URL.

    If the URL is too long for a QR code, return only a message that says so.
    """
    address = session.page_address()
    if not address:
        return {"problem": NO_CODE}
    url = full_address(st.context.url or "", path, address | LectureParams(lecture=True).to_address(), pages)
    image = qr_code(url)
    if image is None:
        return {"problem": NO_CODE}
    return {"image": image, "address": url, "problem": local_only(url)}
