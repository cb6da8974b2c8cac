"""The page of the language model as a lecturer meets it: real server, real Chromium, a small random model."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import running_server
from transformer.available_models import VARIABLE

PAGE = "/language_model?text=Hello.&lm_model=tiny&lm_length=5&lm_text="


def test_from_a_typed_beginning_to_a_head_and_to_another_piece(visit, tiny_language_model, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tiny_language_model.parent))
    with running_server() as server, visit(server) as lecturer:
        lecturer.open(PAGE + "The+dog")
        lecturer.maps(1)
        box = lecturer.page.get_by_role("textbox", name="A beginning")
        box.fill("My sister")
        box.press("Enter")
        lecturer.page.wait_for_url("**lm_text=My+sister**")
        # The address is the run's first word: until its end, the map may be that of the beginning before.
        lecturer.wait()
        heads = lecturer.page.locator(".atlas").get_by_label("Head", exact=True)
        # The page opens at the telling head, which may be either.
        other = "2" if heads.input_value() == "0" else "1"
        heads.select_option(label=other)
        lecturer.page.wait_for_url(f"**lm_head={other}**")
        lecturer.wait()
        lecturer.page.get_by_text("Step by step", exact=True).first.click()
        lecturer.page.locator(".steps[data-drawn$=' 1']").wait_for()
        expect(lecturer.page.locator(".timeline .piece")).to_have_count(5)
        # One text: the step looks back at it, and at no other.
        expect(lecturer.page.locator(".attention-rows h4:visible")).to_have_count(1)
        second = lecturer.page.locator(".candidates .name").nth(1).inner_text()
        lecturer.page.locator(".candidates .take").nth(1).click()
        lecturer.page.wait_for_url("**lm_forced=**")
        expect(lecturer.page.locator(".timeline .piece span").first).to_have_text(second)
        # The pages about heads look at the same text, and lead back to the map of a head.
        main = lecturer.page.get_by_test_id("stMain")
        main.get_by_role("button", name="Compare its heads").click()
        lecturer.arrived("compare_heads")
        row = main.locator(".heads tbody tr").filter(has_text="layer 2, head 3")
        row.locator("td").nth(2).click()
        lecturer.page.wait_for_url(re.compile("language_model.*lm_layer=2&lm_head=3"))
        lecturer.head(2, 3)
        main.get_by_role("button", name="Inside a layer").click()
        lecturer.arrived("inside_a_layer")
        main.get_by_role("link", name="Feed-forward").click()
        lecturer.page.wait_for_url("**inside_stage=decoder.feed_forward.norm**")
        lecturer.see("18 of 25: layer normalisation")
