"""Tests of lecture mode in Chromium: clicker keys, sizes on a projector and a phone, and reloading."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from pages.ui.params.slides import Slide, Slides
from tests.browser.conftest import ROOT
from tests.browser.test_accessibility import serious_in_both_themes
from tests.browser.test_frame import FIRST_ROW, PHONE
from tests.places import PLACES

TWELVE = {"text": "The animal did not cross the street because it was too tired."}
PROJECTOR = {"width": 1024, "height": 768}
# Height in pixels of the lecturer's controls at the bottom of the screen.
CONTROLS = 44
SLIDES = Slides(
    (
        Slide.of("cross_attention", {**TWELVE, "layer": "4", "head": "3"}),
        Slide.of("encoder_attention", {**TWELVE, "layer": "2", "head": "1"}),
        Slide.of("lessons", {**TWELVE, "lesson_id": "one_row"}),
    )
)
# JavaScript: smallest font size, in points, in the two lines above the map.
TYPE = """() => {
    const [host] = [...document.querySelectorAll("*")].filter(e => e.shadowRoot?.querySelector("canvas.large"));
    const lines = [...host.shadowRoot.querySelectorAll(".head p, .head b")];
    return 0.75 * Math.min(...lines.map(line => parseFloat(getComputedStyle(line).fontSize)));
}"""


EARLY = (ROOT / "assets" / "lecture" / "early.js").read_text(encoding="utf-8")


def address(page: str, **more: str) -> str:
    return f"/{page}?{urlencode({**TWELVE, **more})}"


def lecture(someone, state: str) -> None:
    """Wait for a state of the lecturer's controls. "lecture 2" means that slide 2 is presented; "page 3" is a page
    outside lecture mode, with a list of three slides.
    """
    someone.page.locator(f".lecture[data-drawn='{state}']").first.wait_for(state="attached")


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["cross_attention", "encoder_attention", "masked_attention"])
def test_map_of_twelve_words_fits_a_projector(reader, page):
    reader.resize(**PROJECTOR)
    reader.open(address(page, lecture="true"))
    reader.maps(1)
    # The map moves when the page's font has loaded.
    reader.page.wait_for_function(f"({FIRST_ROW})() < 200")
    reader.until(
        reader.page.locator("canvas.large"),
        """map => {
            const { right, bottom } = map.getBoundingClientRect();
            return right <= innerWidth && bottom <= innerHeight - 44;
        }""",
        "the map ends below the screen or beside it",
    )
    look = reader.page.locator(".look-for")
    expect(look).to_be_in_viewport(ratio=1)
    expect(look).to_contain_text(re.compile(r"Layer \d, head \d.* looks at “.+”: \d\.\d\d"))
    assert reader.page.evaluate(TYPE) >= 20
    reader.fits(page)
    for gone in ("English sentence", "Layer", "Show as"):
        expect(reader.page.get_by_label(gone, exact=gone != "English sentence").first).to_be_hidden()


# JavaScript that measures the main figure: bottom and right edges of its charts, whether the page scrolls, and the top
# of the first map cell. `few` is whether the map has so few cells that this position does not matter.
FITS = """() => {
    const main = document.querySelector(".st-key-main_figure");
    const charts = main.querySelectorAll(".stVegaLiteChart svg, .js-plotly-plot");
    const cells = [...main.querySelectorAll("svg:has(.mark-rect) .mark-rect.role-mark path")];
    const within = document.querySelector("[data-testid=stMain]");
    return {
        bottom: Math.max(0, ...[...charts].map(chart => chart.getBoundingClientRect().bottom)),
        right: Math.max(0, ...[...charts].map(chart => chart.getBoundingClientRect().right)),
        scrolls: within.scrollHeight > within.clientHeight,
        cell: Math.min(...cells.map(cell => cell.getBoundingClientRect().top)),
        few: cells.length < 20,
    };
}"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("place", "more"),
    [
        # Other tests cover maps and lesson steps.
        *((place, place.more) for place in PLACES if place.page.kind is None and place.page.name != "lessons"),
        *(
            (place, {f"off_{part}": "true"})
            for place in PLACES
            if place.page.name == "switch_heads_off"
            for part in ("importance", "removal")
        ),
    ],
    ids=str,
)
def test_main_figure_of_every_part_fits_a_projector(reader, place, more):
    reader.resize(**PROJECTOR)
    reader.open(f"{place.path}{urlencode({**TWELVE, 'lecture': 'true', **more})}")
    # A component that covers the whole screen leaves its container empty, so the container is attached but not visible.
    reader.page.locator(".st-key-main_figure").wait_for(state="attached")
    reader.wait()
    found = reader.steady(FITS)
    assert found["bottom"] <= PROJECTOR["height"] - CONTROLS and found["right"] <= PROJECTOR["width"], found
    assert not found["scrolls"] and (found["few"] or found["cell"] < 200), found


def test_clicker_steps_through_a_whole_lecture(reader):
    reader.resize(**PROJECTOR)
    page, keyboard = reader.page, reader.page.keyboard
    reader.open(address("about", slides=str(SLIDES)))
    lecture(reader, "page 3")
    page.get_by_role("button", name="Slides (3)").click()
    page.get_by_role("button", name="Present from the first slide").click()
    reader.head(4, 3)
    keyboard.press("PageDown")
    reader.head(2, 1)
    page.wait_for_url("**/encoder_attention?**slide=2**")
    keyboard.press("PageUp")
    reader.head(4, 3)
    lecture(reader, "lecture 1")
    keyboard.press("PageDown")
    reader.head(2, 1)
    # Reloading the page shows the same slide.
    page.reload()
    reader.head(2, 1)
    reader.wait()
    lecture(reader, "lecture 2")
    expect(page.locator(".atlas.lecture-page")).to_be_visible()
    # The key that blanks the screen works wherever the focus is. While the screen is blank, any key only restores the
    # page.
    page.locator("canvas.large").focus()
    for key in (".", "PageDown"):
        keyboard.press(".")
        expect(page.locator("dialog.black")).to_be_visible()
        keyboard.press(key)
        expect(page.locator("dialog.black")).to_be_hidden()
    lecture(reader, "lecture 2")
    reader.head(2, 1)
    # The QR code contains the URL of this page.
    keyboard.press("q")
    code = page.get_by_alt_text("QR code for").get_attribute("alt").rpartition(" ")[2]
    assert code.partition("?")[0] == page.url.partition("?")[0] and "layer=2&head=1" in code
    keyboard.press("Escape")
    expect(page.locator("dialog.code")).to_be_hidden()
    # A lesson slide shows one step. The lesson's buttons change the step; the clicker shows the answer, then the next
    # slide.
    keyboard.press("PageDown")
    lecture(reader, "lecture 3")
    reader.see("One row of a map · 1 of 4")
    expect(page.locator(".st-key-lesson_words p:visible").first).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Show me").click()
    reader.wait()
    page.get_by_role("button", name="Next", exact=True).click()
    reader.see("One row of a map · 2 of 4")
    reader.wait()
    keyboard.press("PageUp")
    reader.head(2, 1)
    lecture(reader, "lecture 2")
    keyboard.press("Escape")
    lecture(reader, "page 3")
    expect(page.get_by_label("English sentence")).to_be_visible()
    expect(page).not_to_have_url(re.compile("lecture="))
    # The P key presents the current page, unless it is typed into a text box.
    page.get_by_label("English sentence").press("p")
    page.get_by_label("English sentence").blur()
    lecture(reader, "page 3")
    keyboard.press("p")
    expect(page.locator(".atlas.lecture-page")).to_be_visible()


@pytest.mark.thorough
def test_back_button_goes_back_one_slide(reader):
    reader.resize(**PROJECTOR)
    page, keyboard = reader.page, reader.page.keyboard
    reader.open(address("cross_attention", slides=str(SLIDES), slide="1", lecture="true", layer="4", head="3"))
    reader.head(4, 3)
    keyboard.press("PageDown")
    reader.head(2, 1)
    page.wait_for_url("**/encoder_attention?**slide=2**")
    reader.wait()
    page.go_back()
    reader.head(4, 3)
    expect(page).to_have_url(re.compile(r"/cross_attention\?.*slide=1"))
    # A page opened from the menu adds an entry to the browser history.
    keyboard.press("Escape")
    lecture(reader, "page 3")
    reader.choose("About the model")
    page.go_back()
    reader.head(4, 3)
    expect(page).not_to_have_url(re.compile("lecture="))


@pytest.mark.thorough
def test_no_key_is_lost_or_repeated_while_the_page_loads(reader):
    reader.resize(**PROJECTOR)
    page, keyboard = reader.page, reader.page.keyboard
    reader.open(address("cross_attention", slides=str(SLIDES), slide="1", lecture="true", layer="4", head="3"))
    page.reload(wait_until="commit")
    page.wait_for_function("globalThis.early")
    keyboard.press("PageDown")
    reader.head(2, 1)
    # Wait first: on a busy machine, the page's script may run several times and press the key each time.
    reader.wait()
    keyboard.press("PageUp")
    reader.head(4, 3)
    lecture(reader, "lecture 1")
    page.evaluate("globalThis.early = undefined")
    page.evaluate(f"() => {{ {EARLY} }}")
    keyboard.press("PageDown")
    reader.head(2, 1)
    reader.wait()
    expect(page).to_have_url(re.compile(r"/encoder_attention\?.*slide=2"))
    assert page.evaluate("early.keys") == []


@pytest.mark.thorough
def test_clicker_without_slides_steps_through_heads_and_decoding_steps(reader):
    reader.resize(**PROJECTOR)
    reader.open(address("masked_attention", layer="1", head="8", lecture="true"))
    reader.head(1, 8)
    reader.page.keyboard.press("PageDown")
    reader.head(2, 1)
    reader.page.keyboard.press("PageUp")
    reader.head(1, 8)
    reader.open(address("decoding", lecture="true"))
    reader.page.locator(".steps.lecture[data-drawn$=' 1']").wait_for()
    reader.page.keyboard.press("PageDown")
    reader.page.locator(".steps.lecture[data-drawn$=' 2']").wait_for()
    expect(reader.page.locator(".transport")).to_be_hidden()
    reader.open(address("lessons", lecture="true", lesson_id="one_row"))
    reader.page.get_by_role("button", name="Show me").wait_for(state="attached")
    reader.wait()
    reader.page.keyboard.press("PageDown")
    expect(reader.page.get_by_role("button", name="Show me")).to_have_count(0)
    reader.wait()
    reader.page.keyboard.press("PageDown")
    reader.see("One row of a map · 2 of 4")
    # Wait for the buttons that the keys press, because they appear after the title.
    reader.wait()
    reader.page.keyboard.press("PageUp")
    reader.see("One row of a map · 1 of 4")


def test_clicker_shows_the_remaining_decoding_steps_before_the_next_slide(reader):
    reader.resize(**PROJECTOR)
    keyboard, steps = reader.page.keyboard, reader.page.locator
    slides = Slides(
        (Slide.of("decoding", {"text": "I have a dream.", "step": "5"}).titled("One word at a time"), SLIDES.slides[0])
    )
    reader.open(
        "/decoding?"
        + urlencode({"text": "I have a dream.", "step": "5", "slides": str(slides), "slide": "1", "lecture": "true"})
    )
    steps(".steps.lecture[data-drawn$=' 5']").wait_for()
    heading = reader.page.get_by_role("heading", name="One word at a time")
    expect(heading).to_be_in_viewport(ratio=1)
    reader.free(heading, "the figure lies over the title")
    keyboard.press("PageDown")
    # The browser reports each step to the server with a short delay.
    steps(".steps.lecture[data-drawn$=' 6']").wait_for()
    reader.page.wait_for_url("**step=6**")
    lecture(reader, "lecture 1")
    keyboard.press("PageUp")
    steps(".steps.lecture[data-drawn$=' 5']").wait_for()
    reader.page.wait_for_url("**step=5**")
    keyboard.press("PageDown")
    steps(".steps.lecture[data-drawn$=' 6']").wait_for()
    reader.page.wait_for_url("**step=6**")
    reader.wait()
    # "Ich habe einen Traum." has six tokens, so step 6 was the last one.
    keyboard.press("PageDown")
    reader.head(4, 3)
    lecture(reader, "lecture 2")
    reader.wait()
    keyboard.press("PageUp")
    steps(".steps.lecture[data-drawn$=' 6']").wait_for()
    lecture(reader, "lecture 1")
    reader.page.wait_for_url("**step=6**")
    reader.wait()
    # The slide changes even if the browser has not yet reported the step.
    keyboard.press("PageUp")
    keyboard.press("PageDown")
    keyboard.press("PageDown")
    reader.head(4, 3)
    lecture(reader, "lecture 2")
    sentence = reader.page.locator(".atlas .sentence")
    reader.until(
        sentence,
        "each => each.scrollHeight <= each.clientHeight + 1 && each.scrollWidth <= each.clientWidth",
        "the sentence is cut",
    )
    keyboard.press("?")
    expect(reader.page.get_by_role("dialog", name="Keys")).to_contain_text("QR code")
    keyboard.press("Escape")
    # The lecturer's controls cover the bottom of the screen, but not the headline.
    reader.page.mouse.move(500, 300)
    bar, line = (reader.page.locator(each).bounding_box() for each in (".lecture .controls", ".atlas .head"))
    assert bar["y"] > line["y"] + line["height"]


@pytest.mark.thorough
def test_text_and_icons_return_to_normal_size_after_lecture_mode(reader):
    type_size = """() => [document.querySelector("[data-testid=stTooltipIcon] svg").getBoundingClientRect().width,
        ...[...document.querySelectorAll(".stVegaLiteChart text")].map(text => getComputedStyle(text).fontSize)]"""
    icon, chart = reader.page.locator("[data-testid=stTooltipIcon]").first, reader.page.locator(".stVegaLiteChart svg")
    reader.open(address("what_mattered"))
    chart.first.wait_for()
    usual = reader.steady(type_size)
    for key in ("p", None):
        if key is None:
            reader.open(address("what_mattered", lecture="true"))
        else:
            reader.page.keyboard.press(key)
        lecture(reader, "lecture 0")
        reader.wait()
        chart.first.wait_for()
        reader.page.keyboard.press("Escape")
        lecture(reader, "page 0")
        reader.wait()
        icon.wait_for()
        assert reader.steady(type_size) == usual


@pytest.mark.thorough
def test_lesson_buttons_are_not_cut_off_in_lecture_mode(reader):
    reader.resize(**PROJECTOR)
    reader.open(address("lessons", lecture="true"))
    button = reader.page.get_by_role("button", name="Start").first
    button.wait_for()
    reader.wait()
    cut = "button => [...button.querySelectorAll('*')].filter(each => each.scrollWidth > each.clientWidth + 1).length"
    assert button.evaluate(cut) == 0


@pytest.mark.thorough
def test_slides_can_be_made_by_keyboard_and_saved_as_a_file(reader, tmp_path):
    page, keyboard = reader.page, reader.page.keyboard
    reader.open(address("cross_attention", layer="4", head="3"))
    reader.head(4, 3)
    page.get_by_role("button", name="Slides", exact=True).focus()
    keyboard.press("Enter")
    expect(page.get_by_role("button", name="Add this page")).to_be_focused()
    keyboard.press("Enter")
    expect(page.locator(".slides li")).to_have_count(1)
    keyboard.press("Enter")
    expect(page.locator(".slides li")).to_have_count(2)
    page.get_by_role("button", name="Remove slide 2").focus()
    keyboard.press("Enter")
    expect(page.locator(".slides li")).to_have_count(1)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a file").click()
    file = tmp_path / "slides.txt"
    saved.value.save_as(file)
    assert "cross_attention?" in file.read_text(encoding="utf-8")
    file.write_text(SLIDES.to_file(), encoding="utf-8")
    page.get_by_label("Load slides from a file").set_input_files(file)
    expect(page.locator(".slides li")).to_have_count(3)
    untrusted = tmp_path / "hostile.txt"
    untrusted.write_text("javascript:document.title='x'?text=y\n", encoding="utf-8")
    page.get_by_label("Load slides from a file").set_input_files(untrusted)
    expect(page.locator(".slides .problem")).to_contain_text("This file was not loaded")
    expect(page.locator(".slides li")).to_have_count(3)
    assert page.locator(".slides a").get_attribute("href").startswith("cross_attention?")
    keyboard.press("Escape")
    expect(page.locator(".slides")).to_be_hidden()
    page.get_by_role("button", name="Slides (3)").press("Enter")
    expect(page.locator(".slides li .open").first).to_be_focused()


@pytest.mark.thorough
def test_lecture_buttons_on_a_phone_are_within_reach_of_a_thumb(reader):
    reader.resize(**PHONE)
    reader.open(address("cross_attention", lecture="true", layer="4", head="3"))
    reader.head(4, 3)
    reader.fits("the page of a QR code")
    reader.until(
        reader.page.locator("canvas.large"),
        "map => map.getBoundingClientRect().bottom < innerHeight - 60",
        "the map leaves no room for a thumb",
    )
    for name in ("Next (Page Down)", "Leave lecture mode (Esc)"):
        reader.until(
            reader.page.get_by_role("button", name=name),
            """button => {
                const { y, width, height } = button.getBoundingClientRect();
                return y > innerHeight * 2 / 3 && height >= 44 && width >= 44;
            }""",
            f"{name} is too small, or too far up",
        )
    reader.page.get_by_role("button", name="Next (Page Down)").click()
    reader.head(4, 4)
    reader.page.get_by_role("button", name="Leave lecture mode (Esc)").click()
    expect(reader.page.get_by_label("English sentence")).to_be_visible()


# The longest steps: one with several answers, two with large tables and one with two curves.
LONGEST = [("positions", "3"), ("decoding", "2"), ("how_it_learned", "1"), ("not_explanation", "4")]


@pytest.mark.thorough
@pytest.mark.parametrize("answer", ["", "2"])
@pytest.mark.parametrize(("lesson", "step"), LONGEST)
def test_lesson_step_with_its_answers_fits_a_projector(reader, lesson, step, answer):
    reader.resize(**PROJECTOR)
    reader.open(f"/lessons?lecture=true&lesson_id={lesson}&lesson_step={step}&lesson_answer={answer}")
    expect(reader.page.locator(".st-key-lesson_next")).to_be_in_viewport(ratio=1)
    reader.wait()
    bottom = "document.querySelectorAll('.st-key-main_figure .stColumn')[1].getBoundingClientRect().bottom"
    assert reader.steady(f"() => {bottom}") <= PROJECTOR["height"] - CONTROLS
    sizes = ".st-key-lesson_words p, .stTable :is(th, td)"
    assert (
        reader.page.evaluate(
            f"Math.min(...[...document.querySelectorAll('{sizes}')].map("
            "each => 0.75 * parseFloat(getComputedStyle(each).fontSize)))"
        )
        >= 20
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "path",
    [
        address("cross_attention", lecture="true"),
        address("cross_attention", lecture="true", qr="true"),
        address("decoding", lecture="true"),
        address("lessons", lecture="true", lesson_id="one_row"),
        address("compare_heads", lecture="true"),
        address("translate", lecture="true").replace("translate", ""),
        address("about", slides=str(SLIDES)),
    ],
)
def test_lecture_mode_has_no_serious_accessibility_violation(visit, server, path):
    with visit(server) as someone:
        someone.open(path)
        someone.page.locator(".lecture[data-drawn]").first.wait_for(state="attached")
        someone.page.mouse.move(5, 5)
        if "slides" in path:
            someone.page.get_by_role("button", name="Slides (3)").click()
        assert serious_in_both_themes(someone) == []
