"""Tests of the frame around every page: menus, layout on a projector and a phone, and the start of a server."""

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import expect

from pages.ui.params.pages import sections
from pages.ui.params.state import EXAMPLES
from tests.browser.conftest import CHARTS_DRAWN

DREAM = "text=I+have+a+dream."
TWELVE_WORDS = "The animal did not cross the busy street because it was tired."
SIZES = [(1440, 900), (1024, 768)]
PHONE = {"width": 390, "height": 844}
# One content-heavy page per section. They show a table, gradients, formulas and curves, an animation, and long text.
LARGE = ("compare_heads", "what_mattered", "positional_encoding", "training_lab", "about")
# JavaScript that starts to record every entry that appears in Streamlit's sidebar menu.
WATCH = """window.seen = new Set();
new MutationObserver(() => {
    for (const link of document.querySelectorAll("[data-testid=stSidebarNavLink]")) seen.add(link.textContent);
}).observe(document, { childList: true, subtree: true });"""
# JavaScript: the text of an element, including text that CSS adds.
READ_TITLE = """element => {
    const added = getComputedStyle(element, "::after").content;
    return element.textContent + (added === "none" ? "" : JSON.parse(added));
}"""

# JavaScript: names of the controls on screen that the Tab key reaches. A list of words counts as one control.
CONTROLS = """() => {
    const below = root => [...root.querySelectorAll("*")].flatMap(each =>
        [each, ...(each.shadowRoot ? below(each.shadowRoot) : [])]);
    return below(document).filter(each => {
        const { top, bottom, left, right } = each.getBoundingClientRect();
        return each.tabIndex >= 0 && each.localName !== "main" && each.checkVisibility({ visibilityProperty: true })
            && right - left > 1 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
    }).map(each => each.ariaLabel ?? each.textContent);
}"""


# For a deep link, Streamlit finds the page's file before app.py has registered the pages, and could show its own menu.
# The path "/", in contrast, opens app.py itself.
@pytest.mark.thorough(seconds=8)
@pytest.mark.parametrize("path", ["/cross_attention", "/"])
def test_fresh_server_never_shows_the_default_streamlit_menu(unvisited, visit, path):
    with visit(unvisited) as someone:
        someone.page.goto(f"{unvisited}{path}?{DREAM}&layer=2&head=5", wait_until="commit")
        # The opening screen is part of the HTML document, so it appears before any Streamlit script runs.
        opening = someone.page.locator("#opening")
        expect(opening).to_contain_text("Attention Atlas")
        expect(opening).to_contain_text(re.compile("Starting the Transformer … about \\d+ s|Opening the page …"))
        someone.page.evaluate(WATCH)
        someone.wait()
        expect(opening).to_have_count(0)
        someone.maps(1)
        assert someone.page.evaluate("[...seen]") == []
        expect(someone.page.get_by_test_id("stTopNavSection")).to_have_text(list(sections()))
        expect(someone.page.get_by_test_id("stTopNavSection").first).to_be_visible()
        assert someone.page.get_by_role("dialog").count() == 0
        assert someone.page.get_by_text("Page not found").count() == 0
        if path != "/":
            someone.head(2, 5)
        someone.has_typed("I have a dream.")


def test_every_page_is_named_in_a_menu_that_fits_the_screen(reader):
    """Opens only one page per menu: test_every_page.py opens every part of every page at this size and a larger one."""
    reader.resize(1024, 768)
    reader.open(f"/?{DREAM}")
    menus, items = reader.page.get_by_test_id("stTopNavSection"), reader.page.get_by_role("menuitem")
    for section, listed in sections().items():
        # One page of each section is enough here, because tests/ui/test_app.py compares the titles of all pages.
        name, title = next((page.name, page.title) for page in listed if page.name in LARGE)
        # Move the pointer away from the previous page's button, whose tooltip may cover the menu.
        reader.page.mouse.move(0, 0)
        expect(reader.page.get_by_test_id("stTooltipContent")).to_have_count(0)
        menus.filter(has_text=section).click()
        expect(items).to_have_text([page.title for page in listed])
        items.get_by_text(title, exact=True).click()
        reader.arrived(name)
        expect(reader.page).to_have_title(f"{title} · Attention Atlas")
        expect(reader.page.get_by_role("heading", level=1)).to_have_text([title])
        expect(menus).to_have_count(len(sections()))
        titles = [menus.nth(number).locator("p").evaluate(READ_TITLE) for number in range(len(sections()))]
        assert titles == [f"{menu}: {title}" if menu == section else menu for menu in sections()]
        expect(reader.page.get_by_role("menu")).to_have_count(0)
        reader.until(
            menus.last,
            """menu => menu.getBoundingClientRect().right <=
                document.querySelector(".st-key-lecture_bar").getBoundingClientRect().left""",
            f"{title}: a button lies over the last menu",
        )
        reader.page.wait_for_function(CHARTS_DRAWN)
        reader.fits(title)


@pytest.mark.thorough
def test_menu_closes_after_a_choice_on_a_narrow_screen(reader):
    reader.resize(**PHONE)
    reader.open(f"/masked_attention?{DREAM}")
    reader.maps(1)
    side = reader.page.get_by_test_id("stSidebar")
    for title, path in (("Cross attention", "cross_attention"), ("About the model", "about")):
        reader.page.get_by_test_id("stExpandSidebarButton").click()
        expect(side).to_have_attribute("data-collapsed", "false")
        reader.page.get_by_role("link", name=title).and_(reader.page.get_by_test_id("stSidebarNavLink")).click()
        reader.arrived(path)
        expect(side).to_have_attribute("data-collapsed", "true")
        expect(reader.page.get_by_test_id("stMain")).to_be_in_viewport(ratio=0.9)
    reader.page.get_by_test_id("stExpandSidebarButton").click()
    expect(side.locator("a[aria-current=page]")).to_have_text("About the model")


@pytest.mark.thorough
def test_nothing_covers_the_button_that_restores_the_model_translation(reader):
    reader.open(f"/cross_attention?{DREAM}")
    reader.maps(1)
    # Streamlit's hint "Press Enter to …" would cover the end of the sentence.
    box = reader.page.get_by_label("English sentence")
    box.fill("A sentence that is long enough to reach the end of the box on every screen that it is shown on.")
    expect(reader.page.get_by_text("Press Enter to")).to_have_count(0)
    box.fill("I have a dream.")
    reader.page.get_by_role("button", name="Try my own translation").click()
    reader.wait()
    reader.page.get_by_label("Your German translation").fill("Ich träume oft.")
    reader.page.keyboard.press("Enter")
    back = reader.page.get_by_role("button", name="Back to the model's translation")
    expect(reader.page.get_by_label("Your German translation")).to_be_hidden()
    reader.free(back, "something covers the button")
    back.click()
    expect(back).to_be_hidden()


# JavaScript: distance in pixels from the top of the screen to the first row of the first map.
FIRST_ROW = """() => {
    const hosts = [...document.querySelectorAll("*")].filter(element => element.shadowRoot);
    const canvas = hosts.map(host => host.shadowRoot.querySelector("canvas.large, .maps canvas")).find(found => found);
    if (!canvas) return document.querySelector(".mark-rect.role-mark path")?.getBoundingClientRect().top;
    // Read from a copy, because Chromium warns about a canvas that is read repeatedly.
    const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data, width } = context.getImageData(0, 0, canvas.width, canvas.height);
    const filled = (x, y) => data[4 * (y * width + x) + 3] === 255;
    // Unlike a row of cells, text never fills a long line of pixels.
    for (let y = 0; y < canvas.height; y++) {
        let longest = 0, run = 0;
        for (let x = 0; x < width; x++) longest = Math.max(longest, run = filled(x, y) ? run + 1 : 0);
        if (longest > 150) return canvas.getBoundingClientRect().top + y;
    }
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["cross_attention", "encoder_attention", "masked_attention"])
def test_map_starts_near_the_top_of_a_projector_screen(reader, page):
    reader.resize(1024, 768)
    reader.open(f"/{page}?{DREAM}")
    reader.maps(1)
    # Labels are wider until the page's font has loaded.
    high = f"200 < ({FIRST_ROW})() && ({FIRST_ROW})() < 300"
    reader.page.wait_for_function(high)
    drawn = reader.page.locator(".atlas[data-drawn]").first
    before = drawn.get_attribute("data-drawn")
    reader.translate(TWELVE_WORDS)
    expect(drawn).not_to_have_attribute("data-drawn", before)
    reader.page.wait_for_function(high)
    reader.translate(EXAMPLES[0])
    reader.until(
        reader.page.get_by_label("English sentence"),
        "box => box.scrollWidth <= box.clientWidth",
        "the box cuts off the first example",
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "path",
    [
        "/change_attention?",
        "/change_attention?layer=1&head=7&edit_kind=cross&edit_edits=cross.1.7.3~2x100&",
        "/inside_a_layer?inside_part=mask&",
        "/compare_heads?",
        "/compare_heads?compare_part=two_heads&",
        "/training_lab?lab_task=modular&",
        "/language_model?",
        "/language_model?lm_part=heads&",
        "/compare_heads?subject=language_model&",
        "/inside_a_layer?subject=language_model&inside_part=mask&",
    ],
)
def test_map_starts_near_the_top_even_if_the_text_box_contains_twelve_words(reader, path):
    reader.resize(1024, 768)
    reader.open(f"{path}text={quote_plus(TWELVE_WORDS)}&lm_text={quote_plus(TWELVE_WORDS)}")
    reader.page.wait_for_function(f"200 < ({FIRST_ROW})() && ({FIRST_ROW})() < 300")
    box = reader.page.get_by_label("Start of a text")
    if box.count():
        reader.until(box, "box => box.scrollWidth <= box.clientWidth", "the box cuts off the twelve words")
    reader.fits(path)


# JavaScript: true if no two words in a line overlap. Their boxes include padding, so 5 pixels of overlap are allowed.
WORDS_APART = """stage => [...stage.querySelectorAll(".words")].every(list => {
    const boxes = [...list.children].map(word => word.getBoundingClientRect());
    return boxes.every((box, at) => !at || box.top > boxes[at - 1].top + 5 || box.left >= boxes[at - 1].right - 5);
})"""


def test_selecting_a_word_shows_its_attention_and_links_to_heads(reader, shipped):
    text = "The animal didn't cross the street because it was too tired."
    page = reader.page
    reader.open(f"/?text={quote_plus(text)}")
    english = page.get_by_role("listbox", name="English words")
    chosen, ranking = page.locator(".word[aria-selected=true]"), page.locator(".story .ranking")
    expect(chosen).to_have_text("it")
    expect(ranking.get_by_role("link", name="“animal” 62%: encoder layer 6, head 1")).to_be_visible()
    expect(page.locator(".links path")).to_have_count(4)
    expect(page.locator(".drawing")).to_contain_text("written so far: Das Tier überquerte die Straße nicht, weil")
    expect(page.locator(".lit").first).to_contain_text("where “it” stands out are not faded. Show all")
    # Hovering over a German word shows what it looked at. When the pointer leaves, the selected word is shown again.
    page.get_by_role("option", name="es", exact=True).hover()
    expect(ranking).to_contain_text("When it was written, “es” looked at")
    page.mouse.move(1, 1)
    expect(chosen).to_have_text("it")
    # Keyboard: move along the sentence, switch to the other sentence, and deselect the word.
    english.focus()
    page.keyboard.press("ArrowRight")
    expect(chosen).to_have_text("was")
    expect(page.locator(".story [aria-live]")).to_contain_text("“was” looks at")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_have_text("Das")
    page.keyboard.press("Escape")
    expect(chosen).to_have_count(0)
    expect(page.locator(".links path")).to_have_count(0)
    page.get_by_role("option", name="it", exact=True).click()
    page.get_by_role("button", name="Show all").first.click()
    expect(chosen).to_have_count(0)
    page.get_by_role("option", name="it", exact=True).click()
    for name, address in {
        "Hide “it”": "change_attention.*edit_hidden_source=8",
        "Switch": "switch_heads_off.*off_heads=encoder",
        "Do the methods agree?": "what_mattered.*mattered_part=agreement&mattered_explained=9",
    }.items():
        expect(ranking.get_by_role("link", name=name)).to_have_attribute("href", re.compile(address))
    expect(ranking.locator(".legend")).to_contain_text("encoder cross attention")
    # The list of links is a single Tab stop. The button at its end shows the remaining links.
    ranking.get_by_role("link", name="too").focus()
    page.keyboard.press("ArrowDown")
    expect(ranking.get_by_role("link", name="tired")).to_be_focused()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(ranking.get_by_role("button", name="Show 4 more")).to_be_focused()
    page.keyboard.press("Enter")
    listed = ranking.get_by_role("list", name="“it” looks at, largest weight first").get_by_role("link")
    expect(listed).to_have_count(7)
    expect(listed.first).to_be_focused()
    expect(page.locator(".links path")).to_have_count(8)
    expect(ranking.get_by_role("button", name="more")).to_have_count(0)
    for size in (*SIZES, (390, 844)):
        reader.resize(*size)
        reader.fits("the words of the sentence")
        reader.until(page.locator(".words-stage"), WORDS_APART, "a word covers the previous word")
    reader.resize(*SIZES[0])
    ranking.get_by_role("link", name="animal").click()
    reader.arrived("encoder_attention")
    reader.head(6, 1)
    weights = shipped.trace(text).encoder[5, 0, 8]
    expect(page.locator(".readout")).to_contain_text(f"“it” looks most at “animal” {weights[1]:.4f}")


# JavaScript: whether every option of a menu is fully visible in the menu and in the window.
WHOLE_OPTIONS = """menu => [...menu.querySelectorAll("[role=option] > div")].every(text =>
    text.scrollWidth <= text.clientWidth && text.scrollHeight <= text.clientHeight
    && text.getBoundingClientRect().left >= 0
    && text.getBoundingClientRect().right <= innerWidth)"""


def test_selected_word_is_stored_in_the_url(reader):
    page, chosen = reader.page, reader.page.locator(".word[aria-selected=true]")
    reader.open(f"/?{DREAM}&word_side=target&word_at=99")
    expect(chosen).to_have_count(1)
    page.get_by_role("option", name="Traum", exact=True).click()
    expect(page).to_have_url(re.compile("word_side=target&word_at=4"))
    reader.reload()
    expect(chosen).to_have_text("Traum")
    # A click beside the words of a sentence chooses the nearest word.
    end = page.get_by_role("listbox", name="English words").get_by_role("option").last.bounding_box()
    page.mouse.click(end["x"] + end["width"] + 12, end["y"] + end["height"] / 2)
    expect(chosen).to_have_text("dream")
    expect(page).to_have_url(re.compile("word_at=4$"))
    # A new sentence opens with its own default word.
    reader.translate("The old man reads.")
    expect(page).to_have_url(re.compile("old.man.reads.$"))
    expect(page.get_by_role("option", name="old")).to_be_visible()


@pytest.mark.thorough
def test_menu_of_examples_shows_whole_sentences_within_the_window(reader):
    for width, height in (*SIZES, (390, 844)):
        reader.resize(width, height)
        reader.open("/")
        reader.page.get_by_label("or an example").click()
        menu = reader.page.get_by_role("listbox", name="or an example")
        expect(menu.get_by_role("option", name="too wide.")).to_be_visible()
        reader.until(menu, WHOLE_OPTIONS, f"an example is cut off at {width} pixels")


@pytest.mark.thorough
def test_first_page_shows_at_most_30_controls_without_scrolling(reader):
    for width, height in (*SIZES, (390, 844)):
        reader.resize(width, height)
        reader.open("/")
        controls = reader.steady(CONTROLS)
        assert len(controls) <= 30, controls


@pytest.mark.thorough
def test_lesson_opened_from_far_down_the_list_is_scrolled_to_its_title(reader):
    reader.resize(1024, 768)
    reader.open("/lessons")
    start = reader.page.get_by_role("button", name="Start").nth(5)
    start.scroll_into_view_if_needed()
    start.click()
    # The lesson's title also appears in the list of lessons, so wait for the heading.
    title = reader.page.get_by_role("heading", name="The mask, and what leaks without it")
    title.wait_for()
    reader.maps(1)
    reader.wait()
    reader.free(title, "the bar of menus lies over the title")


# JavaScript: whether the decoder stack is above the encoder stack in the large drawing.
STACKED = """root => {
    const titles = ["Decoder: writes German", "Encoder: reads English"];
    const texts = titles.map(title => [...root.querySelectorAll("text")].find(each => each.textContent === title));
    const [decoder, encoder] = texts.map(text => text.getBoundingClientRect());
    return decoder.y + 200 < encoder.y && encoder.y < decoder.y + 600 && Math.abs(decoder.x - encoder.x) < 20;
}"""


@pytest.mark.thorough
def test_large_model_drawing_shows_the_sentence_and_links_to_pages(reader, shipped):
    reader.open(f"/?{DREAM}")
    drawing = reader.page.get_by_role("navigation", name="The Transformer, part by part")
    reader.page.get_by_role("listbox", name="English words").focus()
    reader.page.keyboard.press("Escape")
    for sentence in ("I have a dream.", shipped.trace("I have a dream.").target_text):
        expect(drawing.locator("text").filter(has_text=sentence).first).to_be_visible()
    expect(drawing.locator("image")).to_have_count(3)
    # On a phone, the decoder stack is above the encoder stack, and the drawing does not scroll horizontally.
    reader.resize(**PHONE)
    expect(drawing.locator("svg[data-figure]")).to_have_attribute("viewBox", re.compile("^0 0 4"))
    reader.until(drawing, STACKED, "the decoder stands above the encoder")
    reader.until(drawing, "root => root.scrollWidth <= root.clientWidth", "the drawing is no wider than the screen")
    reader.resize(*SIZES[0])
    drawing.get_by_role("link", name="Masked attention: German looks back at German").click()
    reader.arrived("masked_attention")
    reader.see("Masked attention")
    reader.has_typed("I have a dream.")


def test_pinning_a_cell_shows_a_ranking_of_all_heads_with_links(reader, shipped):
    reader.open(f"/encoder_attention?{DREAM}&layer=1&head=1&words=false&encoder_rows=3&encoder_columns=1")
    reader.maps(1)
    listed = reader.page.locator(".ranking button")
    expect(listed).to_have_count(48)
    weights = shipped.trace("I have a dream.").encoder[:, :, 3, 1]
    shown = [float(text.rsplit(" ", 1)[1]) for text in listed.all_inner_texts()]
    assert shown == pytest.approx(sorted(weights.ravel(), reverse=True), abs=1e-4)
    link = reader.page.locator(".prose a").first
    for click in (link, listed.nth(4)):
        layer, head = map(int, re.findall(r"\d+", click.inner_text())[:2])
        click.click()
        reader.head(layer, head)
        reader.page.wait_for_url(re.compile(f"layer={layer}&head={head}"))
