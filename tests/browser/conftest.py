"""Fixtures for tests with a real server and a real Chromium."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect, sync_playwright

from pages.ui.params.pages import FIRST, PAGES
from tests.browser.component import VIEWPORT, Component, offline_page, opened_document
from tests.browser.runs import RUNS, SETTLED

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
HOW = "no Chrome or Chromium found: install one (Debian: apt-get install chromium) to run the browser tests"
# Timeout in milliseconds for an expected event; generous, because the machine may be busy.
PATIENCE = 90_000
# JavaScript: whether nothing covers the centre of an element, which may be in a shadow root.
FREE = """element => {
    const box = element.getBoundingClientRect();
    return element.contains(element.getRootNode().elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
}"""
# JavaScript: whether every visible chart has been drawn. Lecture mode hides all figures but one.
CHARTS_DRAWN = """
    () => [...document.querySelectorAll('[data-testid=stSkeleton], [data-testid=stVegaLiteChart]')].every(
        element => !element.checkVisibility() || element.querySelector('svg, canvas'))
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move tests that need an unvisited server to the front: the first of them finds the shared server unvisited."""
    items.sort(key=lambda item: "unvisited" not in getattr(item, "fixturenames", ()))


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
def running_server(
    start: Sequence[str | Path] = (sys.executable, "-m", "streamlit", "run", "app.py"),
    folder: Path = ROOT,
    port: int = 0,
) -> Iterator[str]:
    """Start a new app server, and yield its URL. A traceback, an error or a warning in its log fails the test."""
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    command = [*start, f"--server.port={port}", "--server.address=127.0.0.1"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(PATIENCE // 100):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, "the server exited during startup"
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
    """A user with a browser page. `problems` lists the page's errors, warnings and requests to other machines."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def resize(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.wait()

    def wait(self) -> None:
        """Wait until all script runs have ended and their output has replaced the previous page."""
        self.page.evaluate("runs.quiet = 0")
        # Poll every 25 ms: polling on every animation frame, the default, would make Chromium draw every frame.
        self.page.wait_for_function(SETTLED, polling=25)

    def reload(self) -> None:
        self.page.reload()
        self.wait()

    def until(self, target: Locator, condition: str, what: str) -> None:
        """Wait until an element meets a condition. The page may re-render the element in the meantime.

        Args:
            condition: JavaScript function of the element.
            what: error message on timeout.
        """
        end = time.monotonic() + PATIENCE / 1000
        while not target.evaluate(condition):
            assert time.monotonic() < end, what
            self.page.wait_for_timeout(50)

    def free(self, target: Locator, what: str) -> None:
        """Wait until nothing covers the centre of an element."""
        self.until(target, FREE, what)

    def see(self, text: str) -> None:
        self.page.get_by_text(text, exact=False).filter(visible=True).first.wait_for()

    def drawn(self, mark: Locator) -> None:
        """Wait until Vega has finished drawing a chart. Vega redraws a chart once the available width is known."""
        while True:
            found = mark.element_handle()
            self.page.wait_for_timeout(700)
            if found.evaluate("mark => mark.isConnected"):
                return

    def steady(self, measure: str) -> Any:
        """Return the value of a JavaScript function, once all charts are drawn and two calls in a row agree."""
        self.page.wait_for_function(CHARTS_DRAWN)
        found = self.page.evaluate(measure)
        while True:
            self.page.wait_for_timeout(700)
            before, found = found, self.page.evaluate(measure)
            if found == before:
                return found

    def maps(self, count: int) -> None:
        """Wait until `count` attention browsers are drawn."""
        self.page.locator(".atlas[data-drawn]").nth(count - 1).wait_for()

    def components(self, count: int) -> None:
        """Wait until `count` attention browsers or decoding components are drawn."""
        if count:
            self.page.locator(".atlas[data-drawn], .steps[data-drawn]").nth(count - 1).wait_for()

    def head(self, layer: int, head: int) -> None:
        self.page.locator(f".atlas[data-drawn$=' {layer} {head}']").first.wait_for()

    def fits(self, what: str) -> None:
        """Wait until the page has no horizontal overflow."""
        self.until(self.page.locator("html"), "html => html.scrollWidth <= innerWidth", what)
        self.until(self.page.get_by_test_id("stMain"), "main => main.scrollWidth <= main.clientWidth + 1", what)

    def control(self, label: str) -> Locator:
        return self.page.locator(".atlas").get_by_label(label, exact=True)

    def choose(self, title: str) -> None:
        """Open a page from the menu of its section."""
        chosen = next(page for page in PAGES.values() if page.title == title)
        self.page.get_by_test_id("stTopNavSection").filter(has_text=chosen.section).click()
        self.page.get_by_role("menuitem", name=title, exact=True).click()
        self.arrived(chosen.name)

    def arrived(self, name: str) -> None:
        """Wait until the browser shows the URL and the content of a page."""
        path = "/" if name == FIRST else f"/{name}"
        self.page.wait_for_url(lambda url: urlparse(url).path == path)
        self.wait()

    def translate(self, text: str) -> None:
        self.page.get_by_label("English sentence").fill(text)
        self.page.keyboard.press("Enter")

    def has_typed(self, text: str) -> None:
        """Wait until the sentence box contains this text."""
        expect(self.page.get_by_label("English sentence")).to_have_value(text)


@contextmanager
def watched(page: Page, address: str) -> Iterator[Visitor]:
    """Yield a user. The test fails if the page has an error or a warning, or sends a request to another machine."""
    someone = Visitor(page, address)

    def finished(response):
        if response.status >= 400:
            someone.problems.append(f"{response.status} {response.url}")

    def requested(request):
        if urlparse(request.url).hostname not in ("127.0.0.1", None):
            someone.problems.append(f"asked for {request.url}")

    def reported(message):
        if message.type in ("error", "warning"):
            someone.problems.append(f"{message.type}: {message.text}")

    def failed(error):
        someone.problems.append(str(error))

    listeners = {"response": finished, "request": requested, "console": reported, "pageerror": failed}
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        yield someone
        assert someone.problems == []
        assert page.locator("[data-testid=stException]").count() == 0
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)


@contextmanager
def window(browser: Browser, **options: object) -> Iterator[Page]:
    """Open a page in a new browser context, which has no stored state."""
    # Disable Streamlit's animations, because a browser without a GPU renders every frame on the CPU.
    context = browser.new_context(**{"viewport": VIEWPORT, "reduced_motion": "reduce", **options})
    context.add_init_script(RUNS)
    context.set_default_timeout(PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


class Desks:
    """Pool of browser pages that tests reuse, because a new page takes seconds to load Streamlit's JavaScript."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.pages = ExitStack()
        self.free: list[Page] = []
        self.visited: set[str] = set()

    @contextmanager
    def visitor(
        self, address: str, *, viewport: ViewportSize = VIEWPORT, color_scheme: Literal["light", "dark"] = "light"
    ) -> Iterator[Visitor]:
        """Yield a new user, with a page from the pool and no state from earlier tests."""
        self.visited.add(address)
        page = self.free.pop() if self.free else self.pages.enter_context(window(self.browser))
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme)
        page.mouse.move(0, 0)
        try:
            with watched(page, address) as someone:
                yield someone
        finally:
            if page.url.startswith(address):
                page.evaluate("sessionStorage.clear(), localStorage.clear()")
            page.context.clear_cookies()
            page.context.clear_permissions()
            page.goto("about:blank")
            self.free.append(page)


@pytest.fixture(scope="session")
def desks(browser: Browser) -> Iterator[Desks]:
    desks = Desks(browser)
    with desks.pages:
        yield desks


@pytest.fixture
def serve() -> Callable[..., AbstractContextManager[str]]:
    """Return a function that starts a new server; see `running_server`."""
    return running_server


@pytest.fixture
def unvisited(server: str, desks: Desks) -> Iterator[str]:
    """URL of a server that no user has visited: the shared server if no test has used it, else a new server."""
    with running_server() if server in desks.visited else nullcontext(server) as address:
        yield address


@pytest.fixture
def visit(desks: Desks) -> Callable[..., AbstractContextManager[Visitor]]:
    """Return a function that yields a new user of the app at a URL; see `Desks.visitor`."""
    return desks.visitor


@pytest.fixture
def reader(desks: Desks, server: str) -> Iterator[Visitor]:
    """A new user of the shared server."""
    with desks.visitor(server) as someone:
        yield someone


@pytest.fixture(scope="session")
def offline(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page without a network, shared by tests that open files."""
    with offline_page(browser) as opened:
        yield opened


@pytest.fixture
def browse(offline: tuple[Page, list[str]], tmp_path: Path) -> Callable[..., AbstractContextManager[Component]]:
    """Return a function that opens the attention browser of one attention kind from a file."""
    return partial(opened_document, offline, tmp_path)
