"""Drives the attention browser in a saved HTML file, opened in Chromium without a server or a network."""

import base64
import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, ViewportSize

from attention_atlas.browser.html_file import TEMPLATE, fill
from attention_atlas.browser.labels import TITLES, column_labels, row_labels
from attention_atlas.browser.payload import browser_payload
from pages.ui.params.attention import AttentionParams
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.view import axes_of
from transformer.running.translator import Translator
from transformer.text.vocabulary import Vocabulary
from transformer.values.trace import KINDS, Kind, Trace

VIEWPORT: ViewportSize = {"width": 1440, "height": 900}
SVG = "{http://www.w3.org/2000/svg}"
# Published RGB values of the viridis colour map at the weights 0, 1/4, 1/2, 3/4 and 1.
VIRIDIS = {0.0: (68, 1, 84), 0.25: (59, 82, 139), 0.5: (33, 145, 140), 0.75: (94, 201, 98), 1.0: (253, 231, 37)}


def in_tokens(**shown: object) -> AttentionParams:
    """Return parameters that choose the first head and show tokens, except where `shown` sets other values."""
    return AttentionParams(**{"layer": 0, "head": 0, "words": False, **shown})


def labels(trace: Trace, kind: str, **options: bool) -> tuple[list[str], list[str]]:
    axes = axes_of(trace, kind, **options)
    return row_labels(axes), column_labels(axes)


def middle(cell: np.ndarray) -> tuple[float, float]:
    x, y, width, height = cell
    return float(x + width / 2), float(y + height / 2)


def texts(svg) -> list[str]:
    return [text.text for text in svg.iter(f"{SVG}text")]


def settle(page: Page) -> None:
    """Wait for two animation frames, so that the browser has drawn all changes."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@dataclass
class Component:
    """The attention browser of one attention kind, in a file opened without a server."""

    page: Page
    root: Locator

    @property
    def large(self) -> Locator:
        return self.root.locator("canvas.large")

    @property
    def grid(self) -> Locator:
        return self.root.locator("canvas.grid")

    @property
    def readout(self) -> str:
        return self.root.locator(".readout").inner_text()

    @property
    def note(self) -> str:
        return self.root.locator(".note").inner_text()

    @property
    def head(self) -> tuple[int, int]:
        """Layer and head on screen, both 1-based."""
        _, _, layer, head = self.root.get_attribute("data-drawn").split()
        return int(layer), int(head)

    def control(self, label: str) -> Locator:
        """Return the control with this label. If the control is in the closed settings panel, open the panel."""
        found = self.root.get_by_label(label, exact=True)
        if self.root.locator(".display:not([open])").get_by_label(label, exact=True).count():
            self.root.locator(".display summary").click()
        return found

    def settle(self) -> None:
        settle(self.page)

    def choose(self, label: str, option: str) -> None:
        self.control(label).select_option(option)
        self.settle()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def hover(self, x: float, y: float) -> str:
        """Move the pointer to a position in the large figure, and return the readout."""
        self.large.hover(position={"x": x, "y": y})
        self.settle()
        return self.readout

    def click(self, x: float, y: float, *modifiers: str) -> None:
        """Click in the large figure, then move the pointer away from the figure."""
        self.large.click(position={"x": x, "y": y}, modifiers=list(modifiers))
        self.page.mouse.move(0, 0)
        self.settle()

    def save(self, name: str) -> bytes:
        """Click a button in the save menu, and return the content of the saved file."""
        self.root.locator(".save summary").click()
        with self.page.expect_download() as download:
            self.root.get_by_role("button", name=name, exact=True).click()
        self.page.keyboard.press("Escape")
        self.page.mouse.move(0, 0)
        self.settle()
        return Path(download.value.path()).read_bytes()

    def svg(self) -> ElementTree.Element:
        return ElementTree.fromstring(self.save("SVG"))

    def table(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.save("CSV").decode("utf-8"))))

    def cells(self, rows: int, columns: int) -> np.ndarray:
        """Return the x, y, width and height of each cell, [R, C, 4], from the map's SVG export."""
        rectangles = self.svg().findall(f"{SVG}rect")[1 : 1 + rows * columns]
        names = ("x", "y", "width", "height")
        return np.array([[float(one.get(name)) for name in names] for one in rectangles]).reshape(rows, columns, 4)

    def pixels(self, canvas: Locator) -> np.ndarray:
        """Return the RGBA pixels of a canvas, [height, width, 4]. A canvas pixel is one CSS pixel, so pixel indices are
        also pointer coordinates.
        """
        picture = canvas.evaluate("canvas => canvas.toDataURL()").partition(",")[2]
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))))

    def colours(self, cells: np.ndarray) -> np.ndarray:
        """Return the RGB colour of each cell in the large map, sampled off-centre to avoid the printed number and
        the hatching.
        """
        pixels = self.pixels(self.large)
        x, y = cells[..., 0] + cells[..., 2] / 4, cells[..., 1] + cells[..., 3] / 4
        return pixels[y.astype(int), x.astype(int), :3].astype(int)


def document(trace: Trace, kind: Kind, choice: AttentionParams, vocabulary: Vocabulary) -> str:
    """Return the HTML file that the app saves for a trace, with one attention kind selected."""
    metrics = {each: head_metrics(trace, each, vocabulary.key_scores(each)) for each in KINDS}
    kinds = {each: browser_payload(trace, metrics[each], vars(choice)) for each in KINDS}
    content = {
        "choice": {"heads": [], **asdict(choice)},
        "kind": kind,
        "texts": {"source": trace.source_text, "target": trace.target_text},
        "kinds": [
            {"kind": each, "title": TITLES[each], "data": base64.b64encode(data).decode()}
            for each, data in kinds.items()
        ],
    }
    return fill(TEMPLATE, content)


@contextmanager
def offline_page(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """Open a page without a network, and record every request, console message and error."""
    context = browser.new_context()
    problems: list[str] = []
    context.route(re.compile("^(http|ws)"), lambda route: (problems.append(route.request.url), route.abort()))
    context.set_offline(True)
    page = context.new_page()
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    try:
        yield page, problems
    finally:
        context.close()


@contextmanager
def opened_document(
    offline: tuple[Page, list[str]],
    folder: Path,
    translator: Translator,
    trace: Trace,
    kind: Kind,
    choice: AttentionParams | None = None,
    **look: object,
) -> Iterator[Component]:
    """Write an HTML file with all attention maps, open it without a server, and yield the `Component` of `kind`."""
    file = folder / "attention.html"
    file.write_text(document(trace, kind, choice or in_tokens(), translator.tokenizer), encoding="utf-8")
    with opened_file(offline, file, **look) as page:
        yield Component(page, page.locator(f".atlas[data-drawn^='{kind} ']"))


@contextmanager
def opened_file(
    offline: tuple[Page, list[str]],
    file: Path,
    *,
    viewport: ViewportSize = VIEWPORT,
    color_scheme: Literal["light", "dark"] = "light",
    last: str = f":nth-match(.atlas[data-drawn], {len(KINDS)})",
) -> Iterator[Page]:
    """Open a file in an `offline_page`. A request, a console message or an error fails the test.

    Args:
        last: CSS selector of the last element that the file renders; by default, the last of three attention browsers.
    """
    page, problems = offline
    problems.clear()
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=color_scheme)
    page.mouse.move(0, 0)
    page.goto(file.as_uri())
    page.locator(last).wait_for()
    yield page
    assert problems == []
