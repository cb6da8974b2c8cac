"""Tests in Chromium that typed text, choices and pins survive clicks, page changes, reloads and a server restart."""

import re
from urllib.parse import urlparse

import pytest
from playwright.sync_api import expect

from pages.ui.params.pages import sections
from tests.browser.conftest import PATIENCE

DREAM = "I have a dream."
PHONE = {"width": 390, "height": 844}
HALF = "Where is the hou"
MENU = [page.title for listed in sections().values() for page in listed]


def go(reader, name):
    """Open a page from the menu, or a part of the current page."""
    # Wait for the images: if the page were left while they load, the browser would request images that no longer exist.
    reader.page.wait_for_function("[...document.images].every((image) => image.complete)")
    if name in MENU:
        reader.choose(name)
    else:
        reader.page.get_by_role("radio", name=name, exact=True).or_(
            reader.page.get_by_role("button", name=name, exact=True)
        ).first.click()
        reader.wait()


def half_typed(reader):
    """Open a translated sentence, and replace it in the text box with half of another sentence."""
    reader.open(f"/encoder_attention?text={DREAM}&layer=2")
    reader.maps(1)
    reader.page.get_by_label("English sentence").fill(HALF)


def test_unsent_text_survives_page_changes_clicks_and_a_reload(reader):
    half_typed(reader)
    go(reader, "About the model")
    go(reader, "Cross attention")
    reader.maps(1)
    reader.has_typed(HALF)
    reader.control("Layer").select_option("4")
    reader.page.wait_for_url(re.compile("layer=4"))
    reader.has_typed(HALF)
    reader.reload()
    reader.maps(1)
    reader.has_typed(HALF)
    # None of these actions has translated the typed text; pressing Enter still does.
    assert "text=I+have+a+dream." in reader.page.url
    reader.page.get_by_label("English sentence").press("Enter")
    reader.page.wait_for_url(re.compile(r"text=Where\+is\+the\+hou"))
    reader.has_typed(HALF)


def test_typed_letters_trigger_no_shortcut_and_the_button_sends_the_text(reader):
    """Streamlit clears its cache on C and reruns the page on R."""
    reader.open(f"/encoder_attention?text={DREAM}")
    reader.maps(1)
    box = reader.page.get_by_label("English sentence")
    box.fill("")
    box.press_sequentially("crisp mirror?.w")
    reader.has_typed("crisp mirror?.w")
    assert reader.page.get_by_role("dialog").count() == 0
    reader.page.get_by_role("button", name="Translate", exact=True).click()
    reader.page.wait_for_url(re.compile("text=crisp"))


def test_sentence_box_wraps_on_a_phone_and_removes_line_breaks(reader):
    reader.resize(**PHONE)
    reader.open(f"/encoder_attention?text={DREAM}")
    reader.maps(1)
    box = reader.page.get_by_label("English sentence")
    box.fill("The animal didn't cross\nthe street because it was too tired.")
    reader.has_typed("The animal didn't cross the street because it was too tired.")
    shown = "box => box.offsetHeight > 60 && box.scrollHeight <= box.offsetHeight && box.scrollWidth <= box.clientWidth"
    reader.until(box, shown, "the box does not show two lines")
    box.press("Enter")
    reader.page.wait_for_url(re.compile("text=The.animal"))
    reader.has_typed("The animal didn't cross the street because it was too tired.")


@pytest.mark.thorough
def test_choosing_an_example_or_going_back_replaces_unsent_text(reader):
    half_typed(reader)
    reader.page.get_by_label("or an example").click()
    reader.page.get_by_role("option").nth(2).click()
    reader.page.wait_for_url(re.compile(r"text=(?!I\+have)"))
    reader.wait()
    expect(reader.page.get_by_label("English sentence")).not_to_have_value(HALF)
    reader.page.get_by_label("English sentence").fill(HALF)
    reader.page.go_back()
    reader.has_typed(DREAM)


# Marked thorough, because every test run covers the sentence box, which is the same component as the translation box.
@pytest.mark.thorough
def test_unsent_user_translation_survives_page_changes(reader):
    reader.open(f"/cross_attention?text={DREAM}")
    reader.maps(1)
    reader.page.get_by_role("button", name="Try my own translation").click()
    reader.page.get_by_label("Your German translation").fill("Ich habe einen Hu")
    reader.reload()
    reader.maps(1)
    reader.page.get_by_role("button", name="Try my own translation").click()
    box = reader.page.get_by_label("Your German translation")
    expect(box).to_have_value("Ich habe einen Hu")
    # Wait for the response to the click, which would otherwise open the box again.
    reader.wait()
    # The unsent translation is discarded when the sentence changes.
    reader.page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    reader.translate("Hello.")
    reader.page.wait_for_url(re.compile("text=Hello"))
    reader.wait()
    reader.page.get_by_role("button", name="Try my own translation").click()
    expect(reader.page.get_by_label("Your German translation")).to_have_value("")


@pytest.mark.thorough
def test_sentence_and_choices_survive_a_server_restart(browser, serve):
    """Uses a new page, because the shared pages fail the test on network errors, which the restart causes."""
    with serve() as address:
        page = browser.new_page()
        page.goto(f"{address}/encoder_attention?text={DREAM}&layer=2")
        page.locator(".atlas[data-drawn$=' 2 1']").wait_for()
        page.get_by_label("English sentence").fill(HALF)
    connected = "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
    page.locator(connected).wait_for(state="detached")
    with serve(port=urlparse(address).port):
        # Wait until the server is up again and the script run has ended, because clicks before then are ignored. A fast
        # server has imported the model by then, and does not show "Starting the Transformer".
        page.locator(connected).wait_for(timeout=PATIENCE)
        page.wait_for_timeout(3_000)
        page.get_by_text("Starting the Transformer").wait_for(state="detached", timeout=PATIENCE)
        page.locator(connected).wait_for(timeout=PATIENCE)
        page.get_by_label("Layer", exact=True).select_option("4")
        page.wait_for_url(re.compile("layer=4"))
        expect(page.get_by_label("English sentence")).to_have_value(HALF)
        page.reload()
        page.locator(".atlas[data-drawn$=' 4 1']").wait_for()
        expect(page.get_by_label("English sentence")).to_have_value(HALF)
        assert "text=I+have+a+dream." in page.url
        page.close()


@pytest.mark.thorough
def test_selected_head_is_kept_when_a_hint_about_the_sentence_appears(reader):
    reader.open(f"/cross_attention?text={DREAM}")
    reader.maps(1)
    reader.control("Layer").select_option(label="1")
    reader.control("Head").select_option(label="3")
    reader.page.wait_for_url(re.compile("layer=1&head=3"))
    for sentence, remarks in (("The zyzzyva sleeps.", 1), ("I have a dream.", 0)):
        reader.translate(sentence)
        expect(reader.page.get_by_text("The model hardly knows")).to_have_count(remarks)
        reader.wait()
        reader.head(1, 3)
        expect(reader.page).to_have_url(re.compile("layer=1&head=3"))


# Marked thorough, because tests/ui/test_session.py covers every way to pin and navigate.
@pytest.mark.thorough
def test_pins_do_not_apply_to_another_attention_kind_or_sentence(reader):
    reader.open(f"/encoder_attention?text={DREAM}")
    reader.maps(1)
    canvas = reader.page.locator("canvas.large")
    canvas.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        canvas.press(key)
    reader.page.wait_for_url(re.compile("encoder_rows=1&encoder_columns=1"))
    readout = reader.page.locator(".readout")
    go(reader, "Cross attention")
    reader.maps(1)
    expect(readout).to_contain_text("Hover over a cell to read it; click to keep it selected.")
    go(reader, "Encoder attention")
    reader.maps(1)
    expect(readout).to_contain_text("(row 2)")
    reader.translate("Hello, my friend.")
    reader.page.wait_for_url(lambda url: "text=Hello" in url and "rows" not in url)
    expect(readout).to_contain_text("Hover over a cell to read it; click to keep it selected.")
