"""End-to-end tests of the app with a real server, a real Chromium and the shipped model."""

import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect

from transformer.analysis.heads.clearest_head import clearest_head
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.heads.names import head_names

DREAM = "text=I+have+a+dream.&layer=2&head=5"


def test_attention_page_of_a_typed_sentence_opens_at_its_clearest_head(reader, shipped):
    reader.open("/")
    reader.maps(3)
    reader.translate("The cat sleeps on the sofa.")
    reader.see(shipped.trace("The cat sleeps on the sofa.").target_text)
    reader.choose("Cross attention")
    trace = shipped.trace("The cat sleeps on the sofa.")
    telling = clearest_head(trace, head_metrics(trace, "cross", shipped.tokenizer.scores))
    reader.head(telling.layer + 1, telling.head + 1)
    reader.see("Strongest link")
    reader.has_typed("The cat sleeps on the sofa.")


def click_the_last_head(reader, number=0):
    """Click the last head of the last layer in the grid of small maps."""
    grid = reader.page.locator("canvas.grid").nth(number)
    box = grid.bounding_box()
    grid.click(position={"x": 0.97 * box["width"], "y": 0.96 * box["height"]})


def test_arrow_keys_start_at_the_small_map_that_was_clicked(reader):
    reader.open(f"/encoder_attention?{DREAM}")
    reader.maps(1)
    click_the_last_head(reader)
    reader.head(6, 8)
    reader.page.wait_for_url(re.compile("layer=6.*head=8"))
    # The readout describes the head chosen by keyboard, although the pointer still rests on head 8.
    reader.page.keyboard.press("ArrowLeft")
    reader.head(6, 7)
    expect(reader.page.locator(".readout").first).to_have_text(re.compile("^Layer 6, head 7"))
    # The numbers appear when their section is opened. Only then does the page load the syntax highlighter for Python.
    part = reader.page.get_by_test_id("stExpander").filter(has_text="The numbers for layer 6, head 7")
    expect(part.get_by_test_id("stCode")).to_have_count(0)
    part.locator("summary").click()
    expect(part.get_by_test_id("stDataFrame")).to_be_visible()
    expect(part.get_by_test_id("stCode")).to_contain_text("[5, 6]")
    # After a cell is pinned by keyboard, the arrow keys continue from that cell.
    reader.page.locator("canvas.large").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        reader.page.keyboard.press(key)
    reader.page.wait_for_url(re.compile("rows=1"))
    reader.wait()
    reader.page.keyboard.press("ArrowRight")
    expect(reader.page.locator(".readout")).to_contain_text("(column 3)")


@pytest.mark.thorough
def test_clicking_a_head_in_the_introduction_opens_its_page(reader):
    reader.open(f"/?{DREAM}")
    reader.maps(3)
    click_the_last_head(reader, 2)
    reader.arrived("cross_attention")
    reader.head(6, 8)
    reader.has_typed("I have a dream.")


def test_page_names_the_head_with_the_largest_weight_in_the_pinned_cell(reader, shipped):
    sentence = "The animal didn't cross the street because it was too tired."
    trace = shipped.trace(sentence)
    tokens = [token.text for token in trace.source_tokens]
    it, animal = tokens.index("▁it"), tokens.index("▁animal")
    reader.open(f"/encoder_attention?text={quote(sentence)}&layer=1&head=1&words=false&rows={it}&columns={animal}")
    layer, head = np.unravel_index(trace.encoder[:, :, it, animal].argmax(), trace.encoder.shape[:2])
    reader.see(f"This cell's largest weight: layer {layer + 1}, head {head + 1} (")
    there = reader.page.get_by_role("button", name="Show that head")
    there.click()
    reader.head(layer + 1, head + 1)
    reader.page.wait_for_url(re.compile(f"layer={layer + 1}"))
    expect(there).to_be_hidden()
    # The focus is now on the grid of small maps.
    key, beside = ("ArrowLeft", head - 1) if head else ("ArrowRight", 1)
    reader.page.keyboard.press(key)
    reader.head(layer + 1, beside + 1)


@pytest.mark.thorough
def test_arrow_keys_in_the_introduction_show_the_name_of_the_selected_head(reader, shipped):
    metrics = head_metrics(shipped.trace("I have a dream."), "encoder", shipped.tokenizer.scores)
    name = ", ".join(head_names(metrics)[0][1])
    reader.open(f"/?{DREAM}")
    reader.maps(3)
    readout = reader.page.locator(".readout").first
    expect(readout).to_have_text("Hover over a head to read its name and one of its weights.")
    reader.page.locator("canvas.grid").first.focus()
    reader.page.keyboard.press("ArrowRight")
    expect(readout).to_have_text(f"Layer 1, head 2{name and f': {name}'}. Enter opens it.")
    reader.page.keyboard.press("Enter")
    reader.head(1, 2)


@pytest.mark.thorough
def test_reload_keeps_the_chosen_head_and_the_back_button_restores_the_previous_head(reader):
    reader.open(f"/encoder_attention?{DREAM}")
    reader.maps(1)
    reader.choose("Cross attention")
    reader.page.wait_for_url(re.compile("cross_attention.*layer=2"))
    for taken_back in (True, False):
        # A choice undone with the back button can be made again.
        reader.control("Head").select_option("8")
        reader.head(2, 8)
        reader.page.wait_for_url(re.compile("head=8"))
        if taken_back:
            reader.page.go_back()
            reader.head(2, 5)
    reader.reload()
    reader.head(2, 8)
    reader.has_typed("I have a dream.")
    reader.page.go_back()
    reader.head(2, 5)
    reader.has_typed("I have a dream.")


def test_untrusted_text_is_shown_literally(reader):
    reader.open("/encoder_attention")
    reader.maps(1)
    expect(reader.control("Words")).to_be_checked()
    drawn = reader.page.locator(".atlas[data-drawn]")
    for text in ("<b>x</b> <img src=x onerror=alert(1)>", "**b** :smile: $x^2$ [a](http://b.c)", "</s> 🙂 שלום"):
        before = drawn.get_attribute("data-drawn")
        reader.translate(text)
        expect(drawn).not_to_have_attribute("data-drawn", before)
        reader.wait()
        reader.has_typed(text)
        main = reader.page.get_by_test_id("stMain")
        assert main.locator("img:not([src^='data:']), .katex, [data-testid=stMarkdown] a").count() == 0, text
        assert main.locator("[data-testid=stMarkdown] b").count() == 0, text
