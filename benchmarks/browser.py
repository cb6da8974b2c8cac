"""Times the attention browser in a real Chromium, and BertViz's model view of the same arrays.

    pip install -r benchmarks/requirements.txt
    python benchmarks/browser.py [--shapes] [--json FILE]

This benchmark needs two idle cores, and Chrome or Chromium. The attention browser is measured in the app and as a saved
file. In the app, time runs from the key press that submits a sentence to the frame that shows the sentence. This
includes the model's work, which BertViz does not do. The saved file, with all three attention kinds, is comparable to a
BertViz file.

Then the attention browser and BertViz draw random attention with the array shapes of other models. With --shapes, only
this part runs, without the app.
"""

import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import quote

import numpy as np
from bertviz import model_view
from playwright.sync_api import Browser, Page, Route, sync_playwright
from playwright.sync_api import Error as BrowserError

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from attention_atlas import Drawing
from benchmarks.server import server
from benchmarks.timing import Figure, command_line, figure, percentile, write
from transformer.running.translator import Translator
from transformer.values.foreign_tokens import frames
from transformer.values.trace import Trace

PEER = "BertViz 1.4.1 model_view"
# Numbers of layers, heads, source tokens and target tokens for other models. Whisper reads 1,500 frames of sound.
SHAPES = {
    "T5-base, 40 + 40": (12, 12, 40, 40),
    "T5-base, 128 + 128": (12, 12, 128, 128),
    "Llama-1B, 128": (16, 32, 0, 128),
    "Whisper-base, 1,500 + 60": (6, 8, 1500, 60),
}
# BertViz draws one line per attention weight. With more lines than this, Chromium needs minutes.
MAX_LINES = 800_000
SIZES = (12, 40, 128)
# Sentence lengths, in words, for which hovering on the first page is measured.
HOVERED = (12, 60)
REPEATS = {12: 20, 40: 8, 128: 4}
SWITCHES = 20
# Timeout in seconds, long enough for BertViz to draw 786,432 lines for 128 words.
PATIENCE = 180
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Every word is one token in the vocabulary, so that the model can read 128 words.
TEXT = (
    "my brother read the old book to his little sister last night and when the children were in the garden she said "
    "that her father had to go to work in the city every morning but he did not know why people there were always so "
    "happy about it"
)

PROBE = Path(__file__).with_name("probe.js").read_text(encoding="utf-8")
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() / 1000))))"


def sentences(words: int) -> Iterator[str]:
    """Yield distinct texts with the given number of words."""
    every = TEXT.split()
    for first in range(len(every)):
        yield " ".join(islice(cycle(every), first, first + words))


@contextmanager
def opened(browser: Browser) -> Iterator[Page]:
    """Open a page that records its own timings (benchmarks/probe.js)."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(PROBE)
    try:
        yield context.new_page()
    finally:
        context.close()


def heap(page: Page) -> float:
    """Return the bytes of JavaScript heap in use after garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return session.send("Runtime.getHeapUsage")["usedSize"]


def answered(page: Page, act: Callable[[int], None], what: str, doing: str) -> dict[str, float]:
    """Call `act` SWITCHES times. Return durations in seconds: the median and the longest time from an action to the
    next frame, and the browser's longest task.
    """
    page.evaluate("tasks.length = answers.length = 0")
    for turn in range(SWITCHES):
        act(turn)
        page.wait_for_function("turn => answers.length > turn", arg=turn)
    page.wait_for_timeout(200)
    seconds = [one / 1000 for one in page.evaluate("answers")]
    return {
        f"{what} to next frame, median, s": statistics.median(seconds),
        f"{what} to next frame, longest, s": max(seconds),
        f"longest task while {doing}, s": max(page.evaluate("tasks"), default=0.0) / 1000,
    }


def switching(page: Page, act: Callable[[int], None]) -> dict[str, float]:
    return answered(page, act, "key", "switching heads")


def hovering(browser: Browser, address: str, text: str) -> dict[str, float]:
    """Measure the time from hovering over a word on the first page to the frame that shows the word's lines."""
    with opened(browser) as page:
        page.goto(f"{address}/?text={quote(text)}")
        words = page.locator(".word:not(.mark)")
        words.first.wait_for(timeout=60_000)
        settled(page)
        count = words.count()
        return answered(page, lambda turn: words.nth(turn % count).hover(), "pointer on a word", "pointing at words")


def switching_by_keys(page: Page) -> dict[str, float]:
    page.locator("canvas.large").first.focus()
    return switching(page, lambda turn: page.keyboard.press("." if turn % 14 < 7 else ","))


def measure_app(browser: Browser, address: str, words: int) -> dict[str, float]:
    """Return the app's data sizes, its memory, and the times to draw a submitted sentence and to switch heads."""
    received: list[bytes] = []
    with opened(browser) as page:
        page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(frame)))
        page.goto(f"{address}/encoder_attention")
        page.locator(".atlas[data-drawn]").wait_for(timeout=60_000)
        box = page.get_by_label("English sentence")
        seconds, sent, every, tasks = [], [], [], []
        # The first sentence warms up the model and the server, and is not counted.
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
        return {
            "submit to drawn, 95th percentile, s": percentile(seconds[1:]),
            "bytes over the wire for one attention kind": statistics.median(sent[1:]),
            "bytes over the wire for three attention kinds": statistics.median(every[1:]),
            "longest task from submit to drawn, s": max(tasks[1:]),
            **switching_by_keys(page),
            "DOM nodes of the app": page.evaluate("nodes()"),
            "JavaScript heap of the app, bytes": heap(page),
        }


def settled(page: Page) -> None:
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)


def measure_file(browser: Browser, address: str, folder: Path, text: str) -> dict[str, float]:
    """Save an HTML file with all three attention kinds; return the times, size and memory of saving and opening it."""
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
            "longest task while the file loads, s": max(page.evaluate("tasks"), default=0.0) / 1000,
            "bytes of the file with three attention kinds": file.stat().st_size,
            "DOM nodes of the file": page.evaluate("nodes()"),
            "JavaScript heap of the file, bytes": heap(page),
        }


def made(layers: int, heads: int, source: int, target: int) -> Trace:
    """Return a trace with random attention.

    A source longer than 1000 tokens represents audio, so the trace has no encoder attention, as in `from_huggingface`.
    """
    random = np.random.default_rng(0)

    def rows(queries: int, keys: int, mask: np.ndarray | bool = True) -> np.ndarray:
        weights = np.exp(random.normal(scale=2, size=(layers, heads, queries, keys))) * mask
        return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)

    sound = source > 1000
    return Trace.from_attention(
        encoder=rows(source, source) if source and not sound else None,
        decoder=rows(target, target, np.tri(target, dtype=bool)),
        cross=rows(target, source) if source else None,
        source_tokens=frames(source, 0.02) if sound else [f"▁source{at}" for at in range(source)],
        target_tokens=[f"▁target{at}" for at in range(target)],
    )


def measure_drawing(browser: Browser, folder: Path, trace: Trace) -> dict[str, float]:
    """Return the size of the HTML file that `Drawing.save` writes, and times to write it, draw it, and switch heads."""
    file = folder / "shape.html"
    started = time.perf_counter()
    Drawing(trace, kind=trace.kinds[0]).save(file)
    making = time.perf_counter() - started
    with opened(browser) as page:
        page.goto(file.as_uri())
        page.locator(".atlas[data-drawn]").nth(len(trace.kinds) - 1).wait_for()
        drawn = page.evaluate(FRAME)
        page.wait_for_timeout(1000)
        return {
            "bytes of the file": file.stat().st_size,
            "arrays to file, s": making,
            "arrays to drawn file, s": making + drawn,
            **switching_by_keys(page),
        }


def measure_peer(browser: Browser, folder: Path, trace: Trace) -> dict[str, float]:
    """Return measurements of BertViz's HTML file with all attention kinds.

    Like the attention browser, BertViz shows the encoder first.
    """
    arrays = trace.to_bertviz()
    shown = trace.attention(trace.kinds[0])
    layers, heads = shown.shape[:2]
    measured: dict[str, float] = {}
    if trace.kinds == ("encoder", "decoder", "cross"):
        one = {name: arrays[name] for name in ("encoder_attention", "encoder_tokens")}
        measured["bytes over the wire for one attention kind"] = len(
            model_view(**one, html_action="return").data.encode()
        )
    started = time.perf_counter()
    file = folder / "peer.html"
    html = model_view(**arrays, html_action="return").data
    file.write_text("<!doctype html><meta charset=utf-8>" + html, encoding="utf-8")
    making = time.perf_counter() - started
    size = file.stat().st_size
    measured |= dict.fromkeys(
        (
            "bytes over the wire for three attention kinds",
            "bytes of the file with three attention kinds",
            "bytes of the file",
        ),
        size,
    ) | {"arrays to file, s": making}
    if shown.size > MAX_LINES:
        return measured
    with opened(browser) as page:
        page.set_default_timeout(PATIENCE * 1000)
        page.route(re.compile("^https:"), provide)
        try:
            page.goto(file.as_uri())
            page.wait_for_function(
                "count => document.querySelectorAll('.attn_background').length === count", arg=layers * heads
            )
            measured |= {
                "arrays to drawn file, s": making + page.evaluate(FRAME),
                "longest task while the file loads, s": max(page.evaluate("tasks"), default=0.0) / 1000,
                "DOM nodes of the file": page.evaluate("nodes()"),
                "JavaScript heap of the file, bytes": heap(page),
            }
            box = page.locator("svg").bounding_box()
            # In BertViz's drawing, which is 970 pixels wide, the columns of heads begin at pixel 38. The clicks
            # alternate between the first two columns.
            width = (970 - 38) / heads
            measured |= switching(
                page, lambda turn: page.mouse.click(box["x"] + 38 + (turn % 2 + 0.5) * width, box["y"] + 45)
            )
        except BrowserError as error:
            print(f"{PEER} failed with {shown.shape[-1]} tokens: {str(error).splitlines()[0]}", file=sys.stderr)
    return measured


def provide(route: Route) -> None:
    """Answer BertViz's requests for scripts with files from installed packages, so that no network is needed.

    require.js is replaced by a function that only passes jQuery and d3 to BertViz's script.
    """
    if "require" not in route.request.url:
        route.abort()
        return
    d3 = Path(find_spec("mpld3").origin).parent / "js" / "d3.v5.min.js"
    jquery = Path(find_spec("xstatic.pkg.jquery").origin).parent / "data" / "jquery.min.js"
    hand = "window.require = { config() {} }; window.requirejs = (names, start) => start(jQuery, d3);"
    route.fulfill(content_type="text/javascript", body="\n".join((d3.read_text(), jquery.read_text(), hand)))


def main() -> None:
    options = command_line(__doc__.splitlines()[0])
    options.add_argument(
        "--shapes", action="store_true", help="draw only random attention with the array shapes of other models"
    )
    arguments = options.parse_args()
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        sys.exit("No Chrome or Chromium found: install one (Debian: apt-get install chromium).")
    figures: dict[str, Figure] = {}

    def report(name: str, ours: Mapping[str, float], peer: Mapping[str, float]) -> None:
        for each, value in ours.items():
            row = figures[f"{name}: {each}"] = figure(value, peer.get(each), PEER)
            numbers = f"{shown(value):>14}{shown(row['peer']):>14}{shown(row['ratio']):>9}"
            print(f"{f'{name}: {each}':66}{numbers}", flush=True)

    print(f"{'figure':66}{'ours':>14}{'peer':>14}{'ratio':>9}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        if not arguments.shapes:
            translator = Translator.load(device="cpu")
            with server() as (host, *_):
                address = f"http://{host}"
                for words in SIZES:
                    trace = translator.trace(next(sentences(words)))
                    ours = measure_app(browser, address, words)
                    ours |= measure_file(browser, address, folder, trace.source_text)
                    report(f"{words} words", ours, measure_peer(browser, folder, trace))
                for words in HOVERED:
                    report(f"{words} words", hovering(browser, address, next(sentences(words))), {})
        for name, shape in SHAPES.items():
            trace = made(*shape)
            report(name, measure_drawing(browser, folder, trace), measure_peer(browser, folder, trace))
        browser.close()
    print(f"Heads are switched by a key press in this project, and by a click on a small map in {PEER}.")
    write(arguments.json, figures)


def shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"


if __name__ == "__main__":
    main()
