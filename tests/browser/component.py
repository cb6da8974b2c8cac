"""The attention browser as its own file shows it: a real Chromium, no server, no network."""

from __future__ import annotations

import base64
import csv
import io
import json
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

from attention_atlas.browser.html_file import PLACEHOLDER, TEMPLATE
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
# Of the published scale, at a weight of 0, a quarter, a half, three quarters and 1.
VIRIDIS = {0.0: (68, 1, 84), 0.25: (59, 82, 139), 0.5: (33, 145, 140), 0.75: (94, 201, 98), 1.0: (253, 231, 37)}


def in_pieces(**shown: object) -> AttentionParams:
    """A choice: the first head, its pieces not merged into words, unless something else is asked for."""
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
    """Until the next frame is drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@dataclass
class Component:
    """The attention browser of one kind, in a file that was opened without a server and without a network."""

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
        """Layer and head that are drawn, counted from 1."""
        _, _, layer, head = self.root.get_attribute("data-drawn").split()
        return int(layer), int(head)

    def control(self, label: str) -> Locator:
        """A control; the panel is opened if it is in there."""
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
        """Point at a place of the large figure; returns the readout."""
        self.large.hover(position={"x": x, "y": y})
        self.settle()
        return self.readout

    def click(self, x: float, y: float, *modifiers: str) -> None:
        """Click at a place of the large figure, and take the pointer away."""
        self.large.click(position={"x": x, "y": y}, modifiers=list(modifiers))
        self.page.mouse.move(0, 0)
        self.settle()

    def save(self, name: str) -> bytes:
        """The file that a button of the menu saves."""
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
        """Where the cells of the map are, from the saved picture of it: x, y, width and height, [R, C, 4]."""
        rectangles = self.svg().findall(f"{SVG}rect")[1 : 1 + rows * columns]
        names = ("x", "y", "width", "height")
        return np.array([[float(one.get(name)) for name in names] for one in rectangles]).reshape(rows, columns, 4)

    def pixels(self, canvas: Locator) -> np.ndarray:
        """Colours of a canvas, [height, width, 4]; at a density of 1 its places are those of the pointer."""
        picture = canvas.evaluate("canvas => canvas.toDataURL()").partition(",")[2]
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))))

    def colours(self, cells: np.ndarray) -> np.ndarray:
        """Colour of each cell of the large map, a quarter into it, where neither numbers nor hatching are."""
        pixels = self.pixels(self.large)
        x, y = cells[..., 0] + cells[..., 2] / 4, cells[..., 1] + cells[..., 3] / 4
        return pixels[y.astype(int), x.astype(int), :3].astype(int)


def document(trace: Trace, kind: Kind, choice: AttentionParams, vocabulary: Vocabulary) -> str:
    """The file that the browser writes, of any trace, where a kind is shown."""
    metrics = {each: head_metrics(trace, each, vocabulary.key_scores(each)) for each in KINDS}
    kinds = {each: browser_payload(trace, metrics[each], vars(choice)) for each in KINDS}
    content = {
        "choice": {"heads": [], **asdict(choice)}, "kind": kind,
        "texts": {"source": trace.source_text, "target": trace.target_text},
        "kinds": [
            {"kind": each, "title": TITLES[each], "data": base64.b64encode(data).decode()}
            for each, data in kinds.items()
        ],
    }
    return TEMPLATE.replace(PLACEHOLDER, json.dumps(content).replace("<", r"\u003c"), 1)


@contextmanager
def offline_page(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page where nothing can be fetched, and everything that was asked for or went wrong on it."""
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
    offline: tuple[Page, list[str]], folder: Path, translator: Translator, trace: Trace, kind: Kind,
    choice: AttentionParams | None = None, **look: object,
) -> Iterator[Component]:
    """The one file with all attention, as somebody opens it who has nothing but the file."""
    file = folder / "attention.html"
    file.write_text(document(trace, kind, choice or in_pieces(), translator.tokenizer), encoding="utf-8")
    with opened_file(offline, file, **look) as page:
        yield Component(page, page.locator(f".atlas[data-drawn^='{kind} ']"))


@contextmanager
def opened_file(
    offline: tuple[Page, list[str]], file: Path, *, viewport: ViewportSize = VIEWPORT,
    color_scheme: Literal["light", "dark"] = "light",
) -> Iterator[Page]:
    """A file of all three kinds, drawn on an `offline_page`; nothing may be asked for or go wrong."""
    page, problems = offline
    problems.clear()
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=color_scheme)
    page.mouse.move(0, 0)
    page.goto(file.as_uri())
    page.locator(".atlas[data-drawn]").nth(len(KINDS) - 1).wait_for()
    yield page
    assert problems == []
