"""Tests that technical terms in the components are explained where they appear."""

from playwright.sync_api import expect

from pages.ui.text.glossary import explain


def test_hovering_focusing_or_tapping_a_term_shows_its_explanation(reader):
    reader.open("/encoder_attention?text=I+have+a+dream.")
    reader.maps(1)
    word = reader.page.locator(".atlas .term").filter(has_text="Head")
    bubble = reader.page.locator(".atlas").get_by_text(explain("head"), exact=True)
    expect(bubble).to_be_hidden()
    word.hover()
    expect(bubble).to_be_visible()
    reader.page.mouse.move(5, 5)
    expect(bubble).to_be_hidden()
    word.focus()
    expect(bubble).to_be_visible()
    reader.page.keyboard.press("Escape")
    expect(bubble).to_be_hidden()
    chosen = reader.control("Head").input_value()
    word.click()
    expect(bubble).to_be_visible()
    box = bubble.bounding_box()
    width = reader.page.viewport_size["width"]
    assert box["x"] >= 0 and box["x"] + box["width"] <= width, "within the screen"
    assert reader.control("Head").input_value() == chosen, "the control beside it is left alone"
