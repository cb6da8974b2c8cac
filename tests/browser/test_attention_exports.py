"""Tests of the attention browser's exports: pictures, tables, and one HTML file with all maps."""

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.matrix import sums
from tests.browser.component import SVG, Component, in_tokens, labels, middle, opened_file, texts
from transformer.analysis.view import view_of
from transformer.files.csv_cells import FORMULA
from transformer.values.trace import Trace

EVERYTHING = "HTML, everything"


@pytest.fixture(scope="module")
def trace(small_translator) -> Trace:
    return small_translator.trace("The dog reads.", "Der Hund liest.")


def test_saved_svg_contains_every_label(browse, small_translator, trace):
    for kind in ("encoder", "decoder", "cross"):
        with browse(small_translator, trace, kind) as shown:
            rows, columns = labels(trace, kind)
            written = texts(shown.svg())
        at = written.index(rows[0])
        assert written[at : at + len(rows) + len(columns)] == [*rows, *columns]


@pytest.mark.thorough
def test_saved_svg_description_lists_labels_that_do_not_fit_the_map(browse, small_translator):
    trace = small_translator.trace("The old man reads a book in the garden. " * 3, "Der Hund liest.")
    with browse(small_translator, trace, "encoder") as shown:
        svg = shown.svg()
    rows, columns = labels(trace, "encoder")
    assert len([text for text in texts(svg) if text in rows]) < len(rows + columns)
    listed = svg.find(f"{SVG}desc").text.split("\n")
    assert [one for one in listed if one in rows] == [*rows, *columns]


def captions(svg: ElementTree.Element) -> list[str]:
    """Return the caption lines of a saved figure: the title, the sentence, and notes on colours and weights."""
    written = texts(svg)
    return written[next(at for at, text in enumerate(written) if re.search(r" attention, layer ", text)) :]


@pytest.mark.parametrize(
    ("kind", "title", "sentence"),
    [
        pytest.param("encoder", "Encoder attention, layer 2, head 2", "The dog reads.", marks=pytest.mark.thorough),
        ("decoder", "Masked attention, layer 2, head 2", "Der Hund liest."),
        pytest.param(
            "cross", "Cross attention, layer 2, head 2", "The dog reads. → Der Hund liest.", marks=pytest.mark.thorough
        ),
    ],
)
def test_saved_picture_has_a_caption_that_describes_it(browse, small_translator, trace, kind, title, sentence):
    choice = in_tokens(layer=1, head=1, scale="each head its own", hide=True, threshold=3)
    with browse(small_translator, trace, kind, choice) as shown:
        named, read, *rest = captions(shown.svg())
        assert (named, read) == (title, sentence)
        notes = " ".join(rest)
        largest = view_of(trace, kind, words=False, special=False).weights[1, 1].max()
        reported = float(re.search(r"Colour: weight, from 0 to this head's largest \(([\d.]+)\)\.", notes)[1])
        assert reported == pytest.approx(largest, abs=1.01e-4)
        assert ("Hatched grey cells are masked." in notes) == (kind == "decoder")
        assert "hidden, and every row is scaled to a sum of 1." in notes and "Weights below 0.03 are hidden." in notes
        shown.choose("Show as", "lines")
        shown.control("head 4").click()
        shown.settle()
        assert captions(shown.svg())[0] == title.replace("head 2", "heads 2, 4")


@pytest.mark.thorough
def test_no_table_export_contains_a_spreadsheet_formula(visit, server):
    """The CSV file escapes formulas. Streamlit's own download button and copying do not, so they must be off."""
    with visit(server) as reader:
        page = reader.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        reader.open(f"/encoder_attention?words=true&hide=true&text={quote('=1+2 @SUM(A1) -3+cmd|x')}")
        page.evaluate("navigator.clipboard.writeText('nothing copied')")
        part = page.get_by_test_id("stExpander").filter(has_text="The numbers for layer")
        part.locator("summary").click()
        table = part.get_by_test_id("stDataFrame")
        table.hover()
        expect(page.get_by_role("button", name="Search")).to_be_visible()
        expect(page.get_by_role("button", name="Download")).to_have_count(0)
        with page.expect_download() as download:
            part.get_by_role("button", name="Save as CSV").click()
        layer, head = re.findall(r"\d+", part.locator("summary").inner_text())
        assert download.value.suggested_filename == f"encoder-layer{layer}-head{head}-weights.csv"
        rows = list(csv.DictReader(io.StringIO(download.value.path().read_bytes().decode(), newline="")))
        assert {"'=1+2", "'@"} <= {row["to"] for row in rows}
        assert not [cell for row in rows for cell in row.values() if FORMULA.match(cell)]
        table.click(position={"x": 150, "y": 50})
        page.keyboard.press("Control+c")
        assert page.evaluate("navigator.clipboard.readText()") == "nothing copied"


def test_saved_picture_wraps_a_long_sentence(browse, small_translator):
    text = "The old man. " * 3 + "w" * 60
    trace = small_translator.trace(text, "Der Hund liest.")
    with browse(small_translator, trace, "encoder", viewport={"width": 390, "height": 844}) as shown:
        lines = captions(shown.svg())
    assert "".join(lines).replace(" ", "").startswith("Encoderattention,layer1,head1" + text.replace(" ", ""))
    assert len(lines) > 2 and max(map(len, lines)) < 80


def test_saved_picture_has_the_same_colours_as_the_screen(browse, small_translator, trace):
    rows, columns = trace.decoder.shape[2:]
    with browse(small_translator, trace, "decoder") as shown:
        once, twice = (Image.open(io.BytesIO(shown.save(name))).convert("RGB") for name in ("PNG", "PNG 2×"))
        seen = shown.pixels(shown.large)
        svg = shown.svg()
        assert once.size == (seen.shape[1], int(svg.get("height")))
        assert twice.size == (2 * once.width, 2 * once.height)
        cells = shown.cells(rows, columns)
        x, y = (cells[..., 0] + cells[..., 2] / 4), (cells[..., 1] + cells[..., 3] / 4)
        for picture, density in ((once, 1), (twice, 2)):
            colours = np.asarray(picture)[(y * density).astype(int), (x * density).astype(int)]
            assert np.array_equal(colours, shown.colours(cells))


@pytest.mark.parametrize("kind", ["decoder", pytest.param("encoder", marks=pytest.mark.thorough)])
def test_sums_of_pinned_rows_and_columns_on_the_screen_match_every_export(browse, small_translator, trace, kind):
    choice = in_tokens(layer=1, head=2, rows=(4, 2), columns=(1, 0, 3))
    view = view_of(trace, kind)
    rows, columns = labels(trace, kind)
    down = sums(view, 1, 2, choice.rows, of_rows=True)
    across = sums(view, 1, 2, choice.columns, of_rows=False)
    assert list(down.columns) == ["column", "to", "sum of rows 3, 5"]
    with browse(small_translator, trace, kind, choice) as shown:
        added = [one for one in shown.table() if "+" in one["row"] + one["column"]]
        assert [(one["row"], one["from"]) for one in added[: len(columns)]] == [
            ("3+5", f"{rows[2]} + {rows[4]}")
        ] * len(columns)
        assert [one["weight"] for one in added[: len(columns)]] == list(down["sum of rows 3, 5"])
        assert [one["to"] for one in added[: len(columns)]] == columns == list(down["to"])
        assert [one["weight"] for one in added[len(columns) :]] == list(across["sum of columns 1, 2, 4"])
        saved = json.loads(shown.save("JSON"))
        assert saved["sums"]["rows"]["of"] == [3, 5] and saved["sums"]["columns"]["of"] == [1, 2, 4]
        assert [f"{one:.4f}" for one in saved["sums"]["rows"]["weights"]] == list(down["sum of rows 3, 5"])
        total = sum(float(down["sum of rows 3, 5"][at]) for at in (0, 1, 3))
        shown.large.focus()
        shown.press(".", ",")
        for said in (shown.readout, shown.root.locator(".spoken").inner_text()):
            assert f"“{rows[2]}” and “{rows[4]}” (rows 3, 5) look at" in said
            assert "(columns 1, 2, 4)" in said and said.endswith(f"with a total weight of {total:.4f}")


def test_readout_shows_the_sum_of_pinned_rows(browse, small_translator, trace):
    rows, columns = labels(trace, "encoder")
    down = sums(view_of(trace, "encoder"), 0, 0, (0, 3), of_rows=True)["sum of rows 1, 4"]
    best = sorted(down, key=float, reverse=True)[:3]
    with browse(small_translator, trace, "encoder", in_tokens(rows=(0, 3))) as shown:
        assert re.findall(r"\d\.\d{4}", shown.readout) == best
        assert f"“{rows[0]}” and “{rows[3]}” (rows 1, 4) together look most at" in shown.readout
        cells = shown.cells(len(rows), len(columns))
        assert "(row 2) looks at" in shown.hover(*middle(cells[1, 1])), (
            "the cell under the pointer takes precedence over pins"
        )


def places_in_document(shown: Component) -> list[list[float]]:
    """Return the x, y, width and height of the figures, readouts and controls, in document coordinates."""
    return shown.root.evaluate("""root => ["large", "grid", "readout", "note-line", "bar"].map(name => {
        const { x, y, width, height } = root.querySelector(`.${name}`).getBoundingClientRect();
        return [x + scrollX, y + scrollY, width, height];
    })""")


@pytest.mark.parametrize("size", [pytest.param((1440, 900), marks=pytest.mark.thorough), (390, 844)], ids=str)
def test_pinning_a_cell_does_not_move_any_part_of_the_page(browse, small_translator, trace, size):
    rows, columns = trace.encoder.shape[2:]
    viewport = {"width": size[0], "height": size[1]}
    with browse(small_translator, trace, "encoder", viewport=viewport) as shown:
        before, places = shown.cells(rows, columns), places_in_document(shown)
        shown.click(*middle(before[2, 1]))
        assert "(row 3) looks at" in shown.readout and shown.root.locator(".ranking").is_visible()
        assert np.array_equal(shown.cells(rows, columns), before) and places_in_document(shown) == places


@pytest.mark.thorough
def test_saved_html_file_needs_no_server_and_no_network(offline, visit, server, tmp_path: Path):
    """Saving the maps of a 64-token sentence sends nothing to the server, and the file opens without a network."""
    with visit(server) as reader:
        sent = []
        reader.page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append("frame")))
        reader.page.on("request", lambda request: sent.append(request.url))
        reader.open(f"/cross_attention?text={'dog cat ' * 31}dog&target={'Hund Katze ' * 31}&layer=2&head=7")
        reader.maps(1)
        reader.wait()
        assert sent
        sent.clear()
        shown = Component(reader.page, reader.page.locator(".atlas"))
        content, table = shown.save(EVERYTHING), shown.table()
        assert [one for one in sent if not str(one).startswith("blob:")] == []
    assert 500_000 < len(content) < 2_500_000
    file = tmp_path / "attention.html"
    file.write_bytes(content)
    with opened_file(offline, file) as page:
        assert page.title().startswith("dog cat ")
        assert page.get_by_role("heading", level=2).all_inner_texts() == list(TITLES.values())
        cross, encoder = (
            Component(page, page.locator(f".atlas[data-drawn^='{kind} ']")) for kind in ("cross", "encoder")
        )
        assert cross.head == encoder.head == (2, 7), "the head on screen when the file was saved"
        assert cross.table() == table
        for label, option in (("Layer", "4"), ("Head", "1"), ("Scale", "square root"), ("Show as", "lines")):
            encoder.choose(label, option)
        assert encoder.head == (4, 1) and encoder.svg().findall(f"{SVG}line")
        encoder.root.locator(".save summary").click()
        assert not encoder.root.get_by_role("button", name=EVERYTHING).is_visible(), (
            "the component has the maps of only one kind"
        )


def test_saved_html_file_shows_markup_in_the_sentence_literally(offline, reader, tmp_path: Path):
    text = "</script><script>1</script> <!-- $& {{content}} ש 🙂"
    held = []
    reader.page.route("**/*html_export_parts*", lambda route: held.append(route))
    # A translation is given, because the model's own translation would be long and meaningless.
    reader.open(f"/encoder_attention?text={quote(text)}&target={quote('</script>')}")
    reader.maps(1)
    shown = Component(reader.page, reader.page.locator(".atlas"))
    # The menu offers the file as soon as its data arrive, even if the menu is open already.
    save = shown.root.locator(".save summary")
    save.click()
    expect(shown.root.get_by_role("button", name=EVERYTHING)).to_be_hidden()
    while not held:
        reader.page.wait_for_timeout(50)
    for route in held:
        route.continue_()
    expect(shown.root.get_by_role("button", name=EVERYTHING)).to_be_visible()
    save.click()
    content = shown.save(EVERYTHING)
    file = tmp_path / "attention.html"
    file.write_bytes(content)
    with opened_file(offline, file) as page:
        assert page.get_by_role("heading", level=1).inner_text().startswith(text)
        assert page.locator("script").count() == 2
