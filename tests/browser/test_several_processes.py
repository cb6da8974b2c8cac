"""Test of two browsers that use two app processes behind one URL."""

import re
import sys
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor, watched, window
from tests.browser.figure_files import check_pdf, save

COMMAND = (sys.executable, "-m", "attention_atlas", "--processes=2")


def processes() -> list[psutil.Process]:
    """Return the app's worker processes, in the order in which they were started."""
    (app,) = [each for each in psutil.Process().children() if COMMAND[-1] in each.cmdline()]
    return sorted(app.children(), key=lambda each: each.create_time())


def process_of(someone: Visitor) -> int:
    """Return the index of the worker process that serves a user, read from the user's cookie."""
    (number,) = [
        cookie["value"] for cookie in someone.page.context.cookies() if cookie["name"].startswith("attention_atlas_")
    ]
    return int(number)


@pytest.mark.thorough
def test_browser_keeps_its_worker_process_until_the_process_exits(browser, serve):
    with serve(COMMAND) as address, window(browser) as page, window(browser) as other:
        with watched(page, address) as first, watched(other, address) as second:
            for someone in (first, second):
                someone.open("/cross_attention?text=I+have+a+dream.&layer=2&head=1")
                someone.head(2, 1)
            assert {process_of(first), process_of(second)} == {0, 1}
            for someone, sentence in ((first, "The cat sleeps."), (second, "The dog reads.")):
                someone.translate(sentence)
                someone.page.wait_for_url(re.compile(sentence.split()[1]))
                someone.wait()
                someone.control("Layer").select_option("4")
                someone.head(4, 1)
            first.see("Die Katze schläft.")
            second.see("Der Hund liest.")
            # The PDF and CSV downloads need the user's own worker, which sends the PDF fonts and stores the CSV files.
            figure = first.page.locator(".st-key-main_figure")
            check_pdf(save(figure, "PDF", width="one column (77 mm)"), 77, "Katze")
            for someone in (first, second):
                someone.choose("Compare heads")
                with someone.page.expect_download() as download:
                    someone.page.get_by_role("button", name="CSV").first.click()
                assert Path(download.value.path()).read_text(encoding="utf-8").count("\n") > 100
                someone.choose("Cross attention")
                someone.head(4, 1)
        before = process_of(first)
        processes()[before].kill()
        connected = page.locator("[data-testid=stApp][data-test-connection-state=CONNECTED]")
        connected.wait_for(state="detached")
        connected.wait_for()
        first.wait()
        assert process_of(first) == 1 - before
        expect(page).to_have_url(re.compile(r"text=The\+cat\+sleeps.*layer=4|layer=4.*text=The\+cat\+sleeps"))
        first.control("Layer").select_option("5")
        first.head(5, 1)
        first.translate("The child is tired.")
        first.see("Das Kind ist müde.")
