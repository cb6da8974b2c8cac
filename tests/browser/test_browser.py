"""End-to-end tests of the app with a real server, a real Chromium and the shipped model."""

from __future__ import annotations

import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.component import settle
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.heads.names import head_names
from transformer.analysis.heads.telling import telling_head

DREAM = "text=I+have+a+dream.&layer=2&head=5"


def test_typed_sentence_is_shown_as_a_heatmap(reader, shipped):
    reader.open("/")
    reader.maps(3)
    reader.translate("The cat sleeps on the sofa.")
    reader.see(shipped.trace("The cat sleeps on the sofa.").target_text)
    reader.choose("Cross attention")
    trace = shipped.trace("The cat sleeps on the sofa.")
    telling = telling_head(trace, head_metrics(trace, "cross", shipped.tokenizer.scores))
    reader.head(telling.layer + 1, telling.head + 1)
    reader.see("Strongest link")
    reader.has_typed("The cat sleeps on the sofa.")


READ = re.compile(r"\(row (\d+)\).*(?:looks at|may not look at) “(.+)”(?: \(column (\d+)\) with ([\d.]+)|: masked)")


# test_attention_browser.py checks readouts of every kind, and tests/ui checks what every page sends.
@pytest.mark.parametrize(
    ("kind", "page"),
    [("decoder", "masked"), *(pytest.param(kind, kind, marks=pytest.mark.thorough) for kind in ("encoder", "cross"))],
)
def test_hovering_reports_the_number_of_the_tensor(reader, shipped, kind, page):
    reader.open(f"/{page}_attention?{DREAM}&words=false")
    reader.maps(1)
    trace = shipped.trace("I have a dream.")
    canvas = reader.page.locator("canvas.large")
    box = canvas.bounding_box()
    seen = []
    for across in (0.3, 0.45, 0.6, 0.75):
        for down in (0.4, 0.55, 0.7, 0.85):
            reader.page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
            settle(reader.page)
            reported = READ.search(reader.page.locator(".readout").first.inner_text())
            if reported is None:
                continue
            row = int(reported[1]) - 1
            if reported[4] is None:
                assert not trace.mask(kind)[row].all() and "masked" in reported[0]
                continue
            column = int(reported[3]) - 1
            # The server's sums may differ from these in the last bit, and a weight may lie between two roundings.
            assert float(reported[4]) == pytest.approx(trace.attention(kind)[1, 4, row, column], abs=0.51e-4)
            assert trace.key_tokens(kind)[column].text.strip("▁") in reported[2]
            assert trace.query_tokens(kind)[row].text.strip("▁") in reported.string
            seen.append((down, row, column))
    assert len({row for _, row, _ in seen}) > 2 and len({column for _, _, column in seen}) > 2
    heights = {row: down for down, row, _ in seen}
    assert sorted(heights) == sorted(heights, key=heights.get), "row 1 is on top"


def click_the_last_head(reader, number=0):
    """Click the last small map of the last layer."""
    grid = reader.page.locator("canvas.grid").nth(number)
    box = grid.bounding_box()
    grid.click(position={"x": 0.97 * box["width"], "y": 0.96 * box["height"]})


def test_arrow_keys_start_at_the_small_map_that_was_clicked(reader):
    reader.open(f"/encoder_attention?{DREAM}")
    reader.maps(1)
    click_the_last_head(reader)
    reader.head(6, 8)
    reader.page.wait_for_url(re.compile("layer=6.*head=8"))
    # The text describes the head that the keys chose, although the pointer still rests on head 8.
    reader.page.keyboard.press("ArrowLeft")
    reader.head(6, 7)
    expect(reader.page.locator(".readout").first).to_have_text(re.compile("^Layer 6, head 7"))
    # The page draws the numbers on request. Only then does it load the syntax highlighter for Python.
    part = reader.page.get_by_test_id("stExpander").filter(has_text="The numbers of layer 6, head 7")
    expect(part.get_by_test_id("stCode")).to_have_count(0)
    part.locator("summary").click()
    expect(part.get_by_test_id("stDataFrame")).to_be_visible()
    expect(part.get_by_test_id("stCode")).to_contain_text("[5, 6]")
    # Reading continues where a cell was pinned.
    reader.page.locator("canvas.large").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        reader.page.keyboard.press(key)
    reader.page.wait_for_url(re.compile("rows=1"))
    reader.wait()
    reader.page.keyboard.press("ArrowRight")
    expect(reader.page.locator(".readout")).to_contain_text("(column 3)")


@pytest.mark.thorough
def test_click_in_the_introduction_opens_the_head(reader):
    reader.open(f"/?{DREAM}")
    reader.maps(3)
    click_the_last_head(reader, 2)
    reader.arrived("cross_attention")
    reader.head(6, 8)
    reader.has_typed("I have a dream.")


def test_pinned_cell_names_the_head_that_looks_there_most(reader, shipped):
    sentence = "The animal didn't cross the street because it was too tired."
    trace = shipped.trace(sentence)
    tokens = [token.text for token in trace.source_tokens]
    it, animal = tokens.index("▁it"), tokens.index("▁animal")
    reader.open(f"/encoder_attention?text={quote(sentence)}&layer=1&head=1&words=false&rows={it}&columns={animal}")
    layer, head = np.unravel_index(trace.encoder[:, :, it, animal].argmax(), trace.encoder.shape[:2])
    reader.see(f"Of all heads, layer {layer + 1}, head {head + 1} looks there most: ")
    there = reader.page.get_by_role("button", name="Show that head")
    there.click()
    reader.head(layer + 1, head + 1)
    reader.page.wait_for_url(re.compile(f"layer={layer + 1}"))
    expect(there).to_be_hidden()
    # The focus has moved to the small maps.
    key, beside = ("ArrowLeft", head - 1) if head else ("ArrowRight", 1)
    reader.page.keyboard.press(key)
    reader.head(layer + 1, beside + 1)


@pytest.mark.thorough
def test_introduction_shows_the_head_that_the_keys_selected(reader, shipped):
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
def test_address_restores_the_same_view_for_another_user(visit, server, shipped):
    trace = shipped.trace("Where is my hat?")
    opened = telling_head(trace, head_metrics(trace, "decoder", shipped.tokenizer.key_scores("decoder")))
    # These differ from the current values, because choosing a current value changes nothing.
    layer, head = 6 - opened.layer, 8 - opened.head
    with visit(server) as one:
        one.open("/masked_attention")
        one.maps(1)
        one.translate("Where is my hat?")
        one.page.wait_for_url(re.compile(r"text=Where"))
        one.head(opened.layer + 1, opened.head + 1)
        one.control("Layer").select_option(str(layer))
        one.page.wait_for_url(re.compile(f"layer={layer}"))
        one.control("Head").select_option(str(head))
        one.control("Words").uncheck()
        one.page.wait_for_url(re.compile("words=false"))
        link = one.page.url.removeprefix(server)
    # The browser was cleared, so it holds no state of another test.
    with visit(server) as other:
        other.open(link)
        other.maps(1)
        other.head(layer, head)
        other.has_typed("Where is my hat?")
        expect(other.control("Words")).not_to_be_checked()
        other.see("that is read, then the one that is predicted")


@pytest.mark.thorough
def test_reload_and_back_button_keep_the_choices(reader):
    reader.open(f"/encoder_attention?{DREAM}")
    reader.maps(1)
    reader.choose("Cross attention")
    reader.page.wait_for_url(re.compile("cross_attention.*layer=2"))
    for taken_back in (True, False):
        # The choice that the back button undid can be made again.
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


@pytest.mark.thorough
def test_two_concurrent_users_do_not_affect_each_other(visit, server, shipped):
    sentences = ["My brother has a red car.", "We are learning German."]
    with visit(server) as one, visit(server) as two:
        people = (one, two)
        for someone in people:
            someone.open("/")
        for someone, sentence in zip(people, sentences, strict=True):
            someone.translate(sentence)
        for someone, sentence in zip(people, sentences, strict=True):
            someone.see(shipped.trace(sentence).target_text)
            someone.has_typed(sentence)
        for someone, other in zip(people, reversed(sentences), strict=True):
            expect(someone.page.get_by_text(shipped.trace(other).target_text)).to_have_count(0)


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
