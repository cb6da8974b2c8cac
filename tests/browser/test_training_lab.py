"""End-to-end tests of the "Training lab" page: a Transformer trains in a real server, and a real Chromium shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE

RECORDED = "/training_lab?text=x"
# A small training, which ends quickly.
OWN = f"{RECORDED}&lab_task=addition-reversed&lab_width=32&lab_items=8&lab_steps=40"
# Label of the film that the page opens with.
LEARNED = "recorded addition-reversed 2000"


def film(someone, drawn: str):
    """Return the film, once it shows this text."""
    found = someone.page.locator(f".film[data-drawn='{drawn}']")
    found.wait_for()
    return found


@pytest.mark.thorough
def test_recorded_training_plays_and_rewinds(visit, server):
    with visit(server) as reader:
        reader.open(RECORDED)
        film(reader, "recorded reverse 400")
        reader.page.get_by_role("button", name=re.compile("cross head 1 becomes a mirror")).click()
        film(reader, "recorded reverse 236")
        expect(reader.page.locator(".film .moment")).to_contain_text("Step 236 of 400")
        reader.page.wait_for_url(re.compile("lab_moment=236"))
        slider = reader.page.get_by_label("Moment of the training")
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
def test_user_starts_a_training_watches_it_and_asks_the_model(visit, server):
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
        # The training belonged to the tab; its settings and the question are in the address.
        film(reader, LEARNED)
        reader.see("After step 2,000 the model answers 047+385")


@pytest.mark.thorough
def test_spectrum_shows_grokking(visit, server):
    with visit(server) as reader:
        reader.open(f"{RECORDED}&lab_task=modular")
        bars = reader.page.locator(".film canvas[aria-label*='Fourier spectrum']")
        bars.wait_for()
        last = bars.get_attribute("aria-label")
        reader.page.get_by_role("button", name=re.compile("99% of the training items")).click()
        expect(bars).not_to_have_attribute("aria-label", last)
        reader.fits("the film with its spectrum")


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts threads where Linux lists them")
def test_closing_the_browser_during_a_training_leaves_no_thread(visit, server):
    """tests/ui/test_training_lab.py checks the same without a browser."""
    (process,) = [
        path
        for path in Path("/proc").glob("[0-9]*")
        if f"--server.port={server.rpartition(':')[2]}".encode() in (path / "cmdline").read_bytes().split(b"\0")
    ]

    def threads() -> int:
        return len(list((process / "task").iterdir()))

    def trained_and_closed() -> None:
        with visit(server) as reader:
            reader.open(f"{RECORDED}&lab_task=addition&lab_width=32&lab_items=8&lab_steps=3000")
            reader.page.get_by_role("button", name="Train live").click()
            reader.page.locator(".film[data-drawn$=running]").wait_for()

    # The server starts its own threads with the first users.
    for _ in range(2):
        trained_and_closed()
    before, closed = threads(), 3
    for _ in range(closed):
        trained_and_closed()
    with visit(server) as later:
        later.open(RECORDED)
        film(later, "recorded reverse 400")
        for _ in range(PATIENCE // 500):
            if threads() < before + closed:
                break
            later.page.wait_for_timeout(500)
        # The limit is less than one thread per closed browser, because the server's thread pools may still grow by one.
        assert threads() < before + closed
