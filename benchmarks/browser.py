"""Times the attention browser in a real Chromium, and BertViz's model view of the same arrays.

    pip install -r benchmarks/requirements.txt
    python benchmarks/browser.py [--json FILE]

Needs two idle cores and a Chrome or Chromium. Our browser is measured twice. In the app, the time runs from the key
that submits a sentence to the frame that shows it. It includes the model's work, for which BertViz has no counterpart.
As a saved file with all three kinds of attention, our browser is comparable to what BertViz makes.
"""

from __future__ import annotations

import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import quote

import torch
from bertviz import model_view
from playwright.sync_api import Browser, Page, Route, sync_playwright
from playwright.sync_api import Error as BrowserError

# Python started with this file's path does not find the app.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.server import server
from benchmarks.timing import Figure, command_line, figure, percentile, write
from transformer.running.translator import Translator
from transformer.values.trace import Trace

PEER = "BertViz 1.4.1 model_view"
SIZES = (12, 40, 128)
REPEATS = {12: 20, 40: 8, 128: 4}
SWITCHES = 20
# BertViz draws one line per weight, 786,432 of them for 128 words.
PATIENCE = 180
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Every word is one token of the vocabulary, so that the model can read 128 of them.
TEXT = (
    "my brother read the old book to his little sister last night and when the children were in the garden she said "
    "that her father had to go to work in the city every morning but he did not know why people there were always so "
    "happy about it"
)

PROBE = Path(__file__).with_name("probe.js").read_text(encoding="utf-8")
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() / 1000))))"


def sentences(words: int) -> Iterator[str]:
    """Return different texts with this number of words."""
    every = TEXT.split()
    for first in range(len(every)):
        yield " ".join(islice(cycle(every), first, first + words))


@contextmanager
def opened(browser: Browser) -> Iterator[Page]:
    """Open a page that measures itself."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(PROBE)
    try:
        yield context.new_page()
    finally:
        context.close()


def heap(page: Page) -> float:
    """Return the bytes of JavaScript heap still in use."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return session.send("Runtime.getHeapUsage")["usedSize"]


def answers(page: Page, act: Callable[[int], None]) -> tuple[list[float], list[float]]:
    """Act SWITCHES times; return the seconds to the next frame of each and the long tasks meanwhile."""
    page.evaluate("tasks.length = answers.length = 0")
    for turn in range(SWITCHES):
        act(turn)
        page.wait_for_function("turn => answers.length > turn", arg=turn)
    page.wait_for_timeout(200)
    return [one / 1000 for one in page.evaluate("answers")], [one / 1000 for one in page.evaluate("tasks")]


def measure_app(browser: Browser, address: str, words: int) -> dict[str, float]:
    """Measure the app from a submitted sentence on."""
    received: list[bytes] = []
    with opened(browser) as page:
        page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(frame)))
        page.goto(f"{address}/encoder_attention")
        page.locator(".atlas[data-drawn]").wait_for(timeout=60_000)
        box = page.get_by_label("English sentence")
        seconds, sent, every, tasks = [], [], [], []
        # The first sentence warms up the model and the server.
        for text in islice(sentences(words), REPEATS[words] + 1):
            box.fill(text)
            settled(page)
            received.clear()
            page.evaluate("tasks.length = 0")
            page.evaluate("submitted()")
            page.keyboard.press("Enter")
            seconds.append(page.evaluate("shown"))
            settled(page)
            sent.append(sum(len(frame) for frame in received if b'"asked"' in frame and b'"sizes"' not in frame))
            every.append(sum(map(len, received)))
            tasks.append(max(page.evaluate("tasks"), default=0.0) / 1000)
        page.locator("canvas.large").focus()
        switches, switching = answers(page, lambda turn: page.keyboard.press("." if turn % 14 < 7 else ","))
        return {
            "submit to drawn, 95th percentile, s": percentile(seconds[1:]),
            "bytes over the wire, one kind": statistics.median(sent[1:]),
            "bytes over the wire, three kinds": statistics.median(every[1:]),
            "longest task from submit to drawn, s": max(tasks[1:]),
            "key to next frame, median, s": statistics.median(switches),
            "key to next frame, longest, s": max(switches),
            "longest task while switching heads, s": max(switching, default=0.0),
            "DOM nodes of the app": page.evaluate("nodes()"),
            "JavaScript heap of the app, bytes": heap(page),
        }


def settled(page: Page) -> None:
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)


def measure_file(browser: Browser, address: str, folder: Path, text: str) -> dict[str, float]:
    """Measure our saved file with all three kinds."""
    file = folder / "ours.html"
    with opened(browser) as page:
        page.goto(f"{address}/encoder_attention?text={quote(text)}")
        page.locator(".atlas[data-drawn]").wait_for(timeout=60_000)
        settled(page)
        page.locator(".save summary").click()
        started = time.perf_counter()
        with page.expect_download() as download:
            page.get_by_role("button", name="HTML, everything").click()
        download.value.save_as(file)
        making = time.perf_counter() - started
    with opened(browser) as page:
        page.goto(file.as_uri())
        page.locator(".atlas[data-drawn]").nth(2).wait_for()
        return {
            "arrays to drawn file, s": making + page.evaluate(FRAME),
            "longest task of the file, s": max(page.evaluate("tasks"), default=0.0) / 1000,
            "bytes of the file, three kinds": file.stat().st_size,
            "DOM nodes of the file": page.evaluate("nodes()"),
            "JavaScript heap of the file, bytes": heap(page),
        }


def measure_peer(browser: Browser, folder: Path, trace: Trace) -> dict[str, float]:
    """Measure BertViz's file with all three kinds; it first draws the encoder, as our page does."""
    source, target = ([piece.text for piece in side] for side in (trace.source_pieces, trace.target_pieces))
    encoder, decoder, cross = (
        [torch.tensor(layer)[None] for layer in trace.attention(kind)] for kind in ("encoder", "decoder", "cross")
    )
    one = model_view(encoder_attention=encoder, encoder_tokens=source, html_action="return").data
    started = time.perf_counter()
    file = folder / "peer.html"
    file.write_text("<!doctype html><meta charset=utf-8>" + model_view(
        encoder_attention=encoder, decoder_attention=decoder, cross_attention=cross, encoder_tokens=source,
        decoder_tokens=target, html_action="return",
    ).data, encoding="utf-8")
    making = time.perf_counter() - started
    measured = {
        "bytes over the wire, one kind": len(one.encode()), "bytes over the wire, three kinds": file.stat().st_size,
        "bytes of the file, three kinds": file.stat().st_size,
    }
    with opened(browser) as page:
        page.set_default_timeout(PATIENCE * 1000)
        page.route(re.compile("^https:"), provide)
        try:
            page.goto(file.as_uri())
            page.wait_for_function("document.querySelectorAll('.attn_background').length === 48")
            measured |= {
                "arrays to drawn file, s": making + page.evaluate(FRAME),
                "longest task of the file, s": max(page.evaluate("tasks"), default=0.0) / 1000,
                "DOM nodes of the file": page.evaluate("nodes()"),
                "JavaScript heap of the file, bytes": heap(page),
            }
            box = page.locator("svg").bounding_box()
            # BertViz's columns of heads begin at 38 of 970 pixels; the enlarged figure of a head never covers the last
            # two.
            width = (970 - 38) / 8
            switches, switching = answers(page, lambda turn: page.mouse.click(
                box["x"] + 38 + (turn % 2 + 0.5) * width, box["y"] + 45))
        except BrowserError as error:
            print(f"{PEER} gave up at {len(source)} tokens: {str(error).splitlines()[0]}", file=sys.stderr)
            return measured
    return measured | {
        "key to next frame, median, s": statistics.median(switches), "key to next frame, longest, s": max(switches),
        "longest task while switching heads, s": max(switching, default=0.0),
    }


def provide(route: Route) -> None:
    """Serve the scripts that BertViz loads from the network from installed packages; its require.js only returns the
    other two.
    """
    if "require" not in route.request.url:
        route.abort()
        return
    d3 = Path(find_spec("mpld3").origin).parent / "js" / "d3.v5.min.js"
    jquery = Path(find_spec("xstatic.pkg.jquery").origin).parent / "data" / "jquery.min.js"
    hand = "window.require = { config() {} }; window.requirejs = (names, start) => start(jQuery, d3);"
    route.fulfill(content_type="text/javascript", body="\n".join((d3.read_text(), jquery.read_text(), hand)))


def main() -> None:
    arguments = command_line(__doc__.splitlines()[0]).parse_args()
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        sys.exit("No Chrome or Chromium found: install one (Debian: apt-get install chromium).")
    translator = Translator.load(device="cpu")
    figures: dict[str, Figure] = {}
    print(f"{'figure':54}{'ours':>14}{'peer':>14}{'ratio':>9}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder, server() as (host, _):
        address = f"http://{host}"
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for words in SIZES:
            trace = translator.trace(next(sentences(words)))
            ours = measure_app(browser, address, words)
            ours |= measure_file(browser, address, Path(folder), trace.source_text)
            peer = measure_peer(browser, Path(folder), trace)
            for name, value in ours.items():
                row = figures[f"{words} words: {name}"] = figure(value, peer.get(name), PEER)
                numbers = f"{shown(value):>14}{shown(row['peer']):>14}{shown(row['ratio']):>9}"
                print(f"{f'{words} words: {name}':54}{numbers}", flush=True)
        browser.close()
    print(f"Peer: {PEER}. It answers a click on a small map where ours answers a key.")
    write(arguments.json, figures)


def shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"


if __name__ == "__main__":
    main()
