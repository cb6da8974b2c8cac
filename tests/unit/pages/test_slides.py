import base64
import hashlib
import zlib
from dataclasses import replace

import pytest

from pages.ui.params.lecture import LectureParams
from pages.ui.params.slides import LONGEST, LONGEST_CODE, LONGEST_TITLE, MAX_BYTES, MAX_SLIDES, Slide, Slides
from pages.ui.params.state import State
from tests.ui.driver import UNTRUSTED

DREAM = Slide.of("cross_attention", {"text": "I have a dream.", "layer": "5", "head": "3"})
ORDER = Slide.of("positional_encoding", {"text": "Grün & Söhne = 100 % “wahr”?", "positions_part": "matrix"})
LESSON = Slide.of("lessons", {"text": "I have a dream.", "lesson_id": "one_row", "lesson_step": "2"})
THREE = Slides((DREAM, ORDER, LESSON))
# URLs that leave the app, match none of its pages, or are malformed.
LEADING_ASTRAY = [
    "javascript:alert(1)",
    "javascript:alert(1)?text=x",
    "https://example.org/cross_attention?text=x",
    "//example.org/cross_attention?text=x",
    "/cross_attention?text=x",
    "../cross_attention?text=x",
    "cross_attention",
    "cross_attention?",
    "cross_attention?layer=1",
    "cross_attention?text=",
    "no_such_page?text=x",
    "ui?text=x",
    "__init__?text=x",
    "cross_attention?text=x\ty",
    "data:text/html,x?text=y",
    "cross_attention?text=x&text",
    "cross_attention?text=%ff",
    "cross_attention?" + "&".join(["text=x"] * 300),
    "cross_attention?text=" + "x" * 20_000,
    "\x00",
]


def code(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode())).decode().rstrip("=")


def test_url_and_file_restore_the_slides():
    assert Slides.from_address(str(THREE)) == THREE and not Slides.from_address(str(THREE)).problem
    assert Slides.from_file(THREE.to_file()) == THREE
    lecture = LectureParams(lecture=True, slide=2, slides=THREE)
    assert LectureParams.from_address(lecture.to_address()) == lecture
    assert LectureParams.from_address(lecture.to_address()).slides.slides[1].parameters == ORDER.parameters


def test_slide_titles_are_restored_and_limited_in_length():
    titled = THREE.titled(1, "Is <b>order</b> & place lost?")
    assert Slides.from_address(str(titled)) == titled == Slides.from_file(titled.to_file())
    assert titled.slides[1].title == "Is <b>order</b> & place lost?"
    assert titled.slides[1].parameters == ORDER.parameters, "it is no parameter of the page"
    assert titled.titled(1, "") == THREE and titled.titled(9, "x") == titled
    long = Slides.from_file(f"{DREAM}&slide_title={'x' * 5000}%0A%00%E2%80%AEy").slides[0]
    assert long.title == "x" * LONGEST_TITLE
    (turned,) = Slides.from_file(f"{DREAM}&slide_title=a%0A%00%E2%80%AEb").slides
    assert turned.title == "a b"
    presented = LectureParams(lecture=True, slide=2, slides=titled)
    assert presented.heading(ORDER.page) == titled.slides[1].title and presented.heading("about") == ""


@pytest.mark.parametrize("text", [text for text in UNTRUSTED if text.strip()])
def test_slides_restore_any_typed_text(text):
    state = State(text=text)
    slide = Slide.of("encoder_attention", state.page_address())
    (back,) = Slides.from_address(str(Slides((slide,)))).slides
    assert State.from_address(dict(back.parameters)).text == text


def test_slide_file_edited_by_hand_is_read():
    text = f"\ufeff# My lecture\r\n\r\n  {DREAM}  \r\n# Then the order\n{ORDER}"
    assert Slides.from_file(text).slides == (DREAM, ORDER)


def test_slide_file_keeps_the_experiment_of_a_slide():
    experiment = "attention-atlas-experiment:eJwDAAAAAAE="
    kept = Slides((DREAM.carrying(experiment), ORDER))
    assert kept.to_file().splitlines()[1:] == [str(DREAM), f"# {experiment}", str(ORDER)]
    again = Slides.from_file(f"# {experiment}\n{kept.to_file()}# {experiment} and more\n")
    assert [each.experiment for each in again.slides] == [experiment, ""]
    assert again.moved(0, 1).titled(1, "A dream").slides[1].experiment == experiment
    assert not DREAM.carrying("").experiment and not DREAM.carrying(experiment + "A" * LONGEST).experiment
    assert str(kept) == str(Slides((DREAM, ORDER))), "an address has no room for it"


@pytest.mark.parametrize("line", LEADING_ASTRAY)
def test_only_pages_of_this_app_can_be_slides(line):
    for slides in (Slides.from_file(f"{DREAM}\n{line}"), Slides.from_address(code(f"{DREAM}\n{line}"))):
        assert slides == Slides() and slides.problem.count(". ") == 0 and slides.problem.endswith(".")


@pytest.mark.parametrize(
    "invalid",
    [
        "",
        "0",
        "javascript:alert(1)",
        "%00",
        "=",
        "A" * (LONGEST_CODE + 1),
        "eJw",
        str(THREE)[:-9],
        str(THREE)[9:],
        code(""),
        code("\n"),
        code("ü"),
        code("x" * (MAX_BYTES + 1)),
        "é",
        "AAAA\n",
    ],
)
def test_damaged_slides_in_a_url_are_reported(invalid):
    slides = Slides.from_address(invalid)
    assert slides == Slides() and slides.problem.startswith("The slides in this URL were left out: ")


def test_ten_thousand_slides_are_rejected_and_counted():
    many = Slides.from_address(code("\n".join([str(DREAM)] * 10_000)))
    assert many == Slides() and "10,000" in many.problem and str(MAX_SLIDES) in many.problem
    assert "10,000" in Slides.from_file("\n".join([str(DREAM)] * 10_000)).problem


def test_decompression_bomb_is_not_unpacked():
    bomb = base64.urlsafe_b64encode(zlib.compress(b"a" * 4_000_000, level=9)).decode().rstrip("=")
    assert len(bomb) < LONGEST_CODE
    assert "too many" in Slides.from_address(bomb).problem
    assert f"at most {MAX_BYTES:,}" in Slides.from_file("a" * (MAX_BYTES + 1)).problem


def test_rejected_slides_are_not_written_to_the_url():
    assert LectureParams.from_address({"slides": "rubbish"}).to_address() == {}


def test_slides_are_added_reordered_and_removed():
    assert Slides().added(DREAM).added(ORDER).added(LESSON) == THREE
    assert THREE.moved(2, -1).slides == (DREAM, LESSON, ORDER)
    assert THREE.moved(0, 1).slides == (ORDER, DREAM, LESSON)
    assert THREE.moved(0, -1) == THREE and THREE.moved(2, 99) == THREE and THREE.moved(7, -1) == THREE
    assert THREE.without(1).slides == (DREAM, LESSON)
    assert THREE.without(3) == THREE and THREE.without(-1) == THREE


def test_full_slide_list_rejects_another_slide():
    full = Slides((DREAM,) * MAX_SLIDES)
    assert full.added(DREAM) == full and str(MAX_SLIDES) in full.added(DREAM).problem
    # Random sentences hardly compress, so the URL is full before the list is.
    different = Slides()
    for number in range(MAX_SLIDES):
        added = different.added(Slide.of("cross_attention", {"text": hashlib.sha512(bytes([number])).hexdigest()}))
        if added.problem:
            break
        different = added
    assert added.problem and added == different
    assert len(str(different)) <= LONGEST_CODE and 20 < len(different) < MAX_SLIDES


def test_slide_number_selects_the_presented_slide():
    lecture = LectureParams(slides=THREE)
    assert lecture.shown(2) == ORDER and lecture.shown(0) is None and lecture.shown(4) is None


def test_lesson_is_presented_only_on_its_own_slide():
    lecture = LectureParams(slides=Slides((ORDER, Slide.of("lessons", {"text": "A dog.", "lesson_id": "one_row"}))))
    assert lecture.at(2).presents_as_slide("one_row") and not lecture.at(2).presents_as_slide("aligner")
    assert not any(lecture.at(number).presents_as_slide("one_row") for number in (0, 1, 3))
    assert not replace(lecture, slide=2).presents_as_slide("one_row"), "outside of the lecture mode"


def test_slides_are_kept_when_the_sentence_changes_or_is_too_long_for_the_url():
    lecture = LectureParams(lecture=True, slides=THREE)
    assert lecture.for_another_sentence() == lecture and lecture.for_another_translation() == lecture
    address = State(text="x" * 5_000).with_params(lecture).to_address()
    assert set(address) == {"lecture", "slides", "text"}, "a text that is too long to be read takes no slide with it"
    assert "slides" not in State(text="x").with_params(lecture).page_address()
