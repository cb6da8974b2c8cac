"""Test of a vote with the lecturer's browser and two phones, on a real server with two processes."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from benchmarks.server import server
from tests.browser.conftest import watched, window
from tests.browser.test_accessibility import serious
from tests.browser.test_frame import PHONE
from tests.browser.test_lecture import PROJECTOR, address

PATIENCE = 120


def lecturers_path(printed: Callable[[], str]) -> str:
    """Return the lecturer's URL path that the server printed last."""
    deadline = time.monotonic() + PATIENCE
    while not (found := re.findall(r"/vote/lecturer\?\S+", printed())):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found[-1]


def bar(dialog: Locator, choice: str, of: str) -> Locator:
    return dialog.locator(".option", has_text=choice).locator(f".line.{of}")


@pytest.mark.thorough(seconds=60)
def test_audience_can_vote_and_see_the_answer_of_the_model(browser):
    with server(2) as (host, _, printed):
        path, base = lecturers_path(printed), f"http://{host}"
        with (
            window(browser, viewport=PROJECTOR) as screen,
            window(browser, viewport=PHONE, has_touch=True) as first,
            window(browser, viewport=PHONE, has_touch=True) as second,
            watched(screen, base) as lecturer,
        ):
            for phone in (first, second):
                problems = []
                phone.on("console", lambda message, problems=problems: problems.append(message.text))
                phone.goto(f"{base}/vote")
                expect(phone.get_by_role("status")).to_contain_text("No vote is open")
            screen.goto(base + path)
            lecturer.open(address("decoding", lecture="true"))
            screen.get_by_role("button", name="Vote").click()
            dialog = screen.get_by_role("dialog", name="Vote")
            expect(dialog.get_by_role("img", name=f"QR code for {base}/vote")).to_be_in_viewport(ratio=1)
            assert dialog.locator(".line").count() == 0, "no result is shown before the vote"
            dialog.get_by_role("button", name="Open the vote").click()
            choices = first.get_by_role("button").all_text_contents()
            expect(second.get_by_role("button")).to_have_text(choices)
            assert len(choices) == 4 and serious(first, ()) == [] == serious(screen, ())
            first.get_by_role("button", name=choices[0], exact=True).tap()
            second.get_by_role("button", name=choices[0], exact=True).tap()
            expect(bar(dialog, choices[0], "audience")).to_have_text("audience 100%")
            second.get_by_role("button", name=choices[1], exact=True).tap()
            expect(bar(dialog, choices[0], "audience")).to_have_text("audience 50%")
            second.reload()
            expect(second.get_by_role("button", name=choices[1], exact=True)).to_have_attribute("aria-pressed", "true")
            second.get_by_role("button", name=choices[1], exact=True).tap()
            expect(dialog.get_by_role("status")).to_have_text("2 votes")
            assert "audience" not in first.inner_text("main")
            dialog.get_by_role("button", name="Close the vote").click()
            expect(first.get_by_role("status")).to_contain_text("The vote is closed")
            assert dialog.locator(".line.model").count() == 0
            reveal, before = dialog.get_by_role("button", name="Reveal"), screen.url
            expect(reveal).to_be_focused()
            screen.keyboard.press("PageDown")
            reveal.click()
            assert screen.url == before, "a clicker does not step the page behind the dialog"
            expect(dialog.get_by_role("status")).to_have_text(re.compile(r"The most likely tokens are “.+” with \d+%"))
            assert dialog.locator(".line.model").count() == 4 and dialog.locator(".option.right").count() == 1
            expect(first.get_by_role("status")).to_contain_text(re.compile(r"You were (right|wrong)\. The most likely"))
            with screen.expect_download() as download:
                dialog.get_by_text("Results as CSV").click()
            rows = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
            assert len(rows) == 5 and [row.split('",')[1].split(",")[1] for row in rows[1:]] == ["1", "1", "0", "0"]
            dialog.get_by_role("button", name="Back to the page").click()
            expect(dialog).to_be_hidden()
            assert problems == []
