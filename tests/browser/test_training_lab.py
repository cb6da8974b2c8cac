"""End-to-end tests of the "Training lab" page: a Transformer trains on a real server while Chromium shows it."""

import re

import pytest
from playwright.sync_api import expect

RECORDED = "/training_lab?text=x"
# A training run that is small enough to end quickly.
OWN = f"{RECORDED}&lab_task=addition-reversed&lab_width=32&lab_items=8&lab_steps=40"
# `data-drawn` attribute of the film with which the page opens.
LEARNED = "recorded addition-reversed 2000"


def film(someone, drawn: str):
    """Return the film element, once its `data-drawn` attribute is `drawn`."""
    found = someone.page.locator(f".film[data-drawn='{drawn}']")
    found.wait_for()
    return found


@pytest.mark.thorough
def test_recording_of_a_training_run_plays_and_rewinds(visit, server):
    with visit(server) as reader:
        reader.open(RECORDED)
        film(reader, "recorded reverse 400")
        reader.page.get_by_role("button", name=re.compile("cross head 1 becomes a mirror")).click()
        film(reader, "recorded reverse 236")
        expect(reader.page.locator(".film .moment")).to_contain_text("Step 236 of 400")
        reader.page.wait_for_url(re.compile("lab_moment=236"))
        slider = reader.page.get_by_label("Training step")
        slider.focus()
        reader.page.keyboard.press("ArrowLeft")
        film(reader, "recorded reverse 232")
        reader.page.keyboard.press("Home")
        film(reader, "recorded reverse 0")
        reader.page.get_by_role("button", name="▶ Play").click()
        film(reader, "recorded reverse 400")
        curves = reader.page.locator(".curves canvas")
        box = curves.bounding_box()
        curves.click(position={"x": box["width"] / 2, "y": 60})
        reader.page.locator(".film:not([data-drawn$=' 400'])").wait_for()
        reader.fits("the film")


@pytest.mark.thorough
def test_user_can_train_a_model_watch_it_and_query_it(visit, server):
    with visit(server) as reader:
        reader.open(OWN)
        film(reader, LEARNED)
        reader.page.get_by_role("button", name="Train live").click()
        film(reader, "own 1 40")
        reader.page.get_by_label("Your own item").fill("047+385")
        reader.page.keyboard.press("Enter")
        reader.see("After step 40 the model answers 047+385")
        reader.page.wait_for_url(re.compile(r"lab_item=047(\+|%2B)385"))
        reader.page.get_by_role("button", name="Reset", exact=True).click()
        film(reader, "own 2 0")
        reader.see("After step 0 the model answers 047+385")
        reader.page.reload()
        reader.wait()
        # A reload discards the training run, but keeps the settings and the typed item, because they are in the URL.
        film(reader, LEARNED)
        reader.see("After step 2,000 the model answers 047+385")


@pytest.mark.thorough
def test_fourier_spectrum_changes_when_a_milestone_is_clicked(visit, server):
    with visit(server) as reader:
        reader.open(f"{RECORDED}&lab_task=modular")
        bars = reader.page.locator(".film canvas[aria-label*='Fourier spectrum']")
        bars.wait_for()
        last = bars.get_attribute("aria-label")
        reader.page.get_by_role("button", name=re.compile("99% of the training items")).click()
        expect(bars).not_to_have_attribute("aria-label", last)
        reader.fits("the film with its spectrum")
