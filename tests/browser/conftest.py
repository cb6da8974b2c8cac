"""A real server and a real Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.browser.component import Component, opened_document

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
HOW = "no Chrome or Chromium found: install one (Debian: apt-get install chromium) to run the browser tests"
# Milliseconds until something that does not come is missed: a busy machine may take long.
PATIENCE = 60_000
# A deep link makes Streamlit look for its own addresses below the page's first.
KNOWN = ("/_stcore/health", "/_stcore/host-config")


def find_chromium() -> str | None:
    found = (shutil.which(name) for name in NAMES)
    return next((path for path in (*found, *PLACES) if path and Path(path).exists()), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(HOW)
        pytest.skip(HOW)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        expect.set_options(timeout=PATIENCE)
        yield browser
        browser.close()


@contextmanager
def running_server() -> Iterator[str]:
    """A fresh server of the app; its log must stay free of tracebacks and warnings."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}",
               "--server.address=127.0.0.1"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError):
                assert process.poll() is None, "the server ended at its start"
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        log = process.communicate(timeout=30)[0]
    for sign in ("Traceback", "Warning", "warning", "Error", "deprecated"):
        assert sign not in log, log


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running_server() as address:
        yield address


@dataclass
class Visitor:
    """A person with a browser: a page, and everything that went wrong on it."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.wait()

    def wait(self) -> None:
        """Until the script has run and sent something; the first run of a server may end before its page begins."""
        ended = "[data-testid=stApp][data-test-script-state=notRunning]"
        self.page.locator(f"{ended}:has([data-testid=stElementContainer])").wait_for()

    def see(self, text: str) -> None:
        self.page.get_by_text(text, exact=False).first.wait_for()

    def maps(self, count: int) -> None:
        """Until so many attention browsers have drawn."""
        self.page.locator(".atlas[data-drawn]").nth(count - 1).wait_for()

    def components(self, count: int) -> None:
        """Until so many components of ours have drawn, whatever they show."""
        if count:
            self.page.locator(".atlas[data-drawn], .steps[data-drawn]").nth(count - 1).wait_for()

    def head(self, layer: int, head: int) -> None:
        """Until the attention browser shows this head."""
        self.page.locator(f".atlas[data-drawn$=' {layer} {head}']").first.wait_for()

    def fits(self, what: str) -> None:
        """Nothing is wider than the screen."""
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), what
        assert self.page.get_by_test_id("stMain").evaluate("e => e.scrollWidth <= e.clientWidth + 1"), what

    def control(self, label: str) -> Locator:
        """A control of the attention browser."""
        return self.page.locator(".atlas").get_by_label(label, exact=True)

    def translate(self, text: str) -> None:
        self.page.get_by_label("English sentence").fill(text)
        self.page.keyboard.press("Enter")

    def has_typed(self, text: str) -> None:
        """Until the box holds the text."""
        expect(self.page.get_by_label("English sentence")).to_have_value(text)


@contextmanager
def visitor(browser: Browser, address: str, **options: object) -> Iterator[Visitor]:
    """Somebody who opens the app; nothing outside this machine may be asked for, and nothing may go wrong."""
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
    context.set_default_timeout(PATIENCE)
    someone = Visitor(context.new_page(), address)

    def finished(response):
        if response.status >= 400 and not response.url.endswith(KNOWN):
            someone.problems.append(f"{response.status} {response.url}")

    def requested(request):
        if urlparse(request.url).hostname not in ("127.0.0.1", None):
            someone.problems.append(f"asked for {request.url}")

    def told(message):
        if message.type in ("error", "warning") and "the server responded with a status of 404" not in message.text:
            someone.problems.append(f"{message.type}: {message.text}")

    someone.page.on("response", finished)
    someone.page.on("request", requested)
    someone.page.on("console", told)
    someone.page.on("pageerror", lambda error: someone.problems.append(str(error)))
    try:
        yield someone
        assert someone.problems == []
        assert someone.page.locator("[data-testid=stException]").count() == 0
    finally:
        context.close()


@pytest.fixture
def serve() -> Callable[[], AbstractContextManager[str]]:
    """Starts a server that nobody has visited."""
    return running_server


@pytest.fixture
def visit(browser: Browser) -> Callable[..., AbstractContextManager[Visitor]]:
    """Brings somebody with a browser of their own to an address."""
    return partial(visitor, browser)


@pytest.fixture
def reader(browser: Browser, server: str) -> Iterator[Visitor]:
    with visitor(browser, server) as someone:
        yield someone


@pytest.fixture
def browse(browser: Browser, tmp_path: Path) -> Callable[..., AbstractContextManager[Component]]:
    """Opens the attention browser of one kind, without a server."""
    return partial(opened_document, browser, tmp_path)
