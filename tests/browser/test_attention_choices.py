"""Tests of keyboard and pointer input in the attention browser."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.component import SVG, VIRIDIS, Component, in_tokens, labels, middle, texts
from transformer.values.trace import Trace

pytestmark = pytest.mark.thorough

FIRST_HEAD = "#0072b2"
SECOND_HEAD = "#d55e00"
CHOSEN = "#ea580c"
# A displayed sum adds weights that were sent as 16-bit numbers, so its fourth decimal place may be off by one.
LAST_DECIMAL = 1.01e-4


@pytest.fixture(scope="module")
def trace(small_translator) -> Trace:
    return small_translator.trace("The dog reads.", "Der Hund liest.")


def place(component: Component, rows: int, columns: int, row: int, column: int) -> tuple[float, float]:
    return middle(component.cells(rows, columns)[row, column])


def weights(component: Component) -> np.ndarray:
    """Return the displayed weights, with NaN in masked cells."""
    return np.array(json.loads(component.save("JSON"))["weights"], dtype=float)


def frames(svg: ElementTree.Element) -> list[ElementTree.Element]:
    """Return the outlines of the pinned rows and columns in an SVG."""
    return [one for one in svg.iter(f"{SVG}rect") if one.get("stroke") == CHOSEN]


def test_arrow_keys_move_between_cells_and_enter_pins_a_cell(browse, small_translator, trace):
    rows, columns = labels(trace, "encoder")
    with browse(small_translator, trace, "encoder") as shown:
        shown.large.focus()
        shown.press("ArrowDown")
        assert f"“{rows[0]}” (row 1) looks at “{columns[0]}” (column 1)" in shown.readout
        shown.press("ArrowDown", "ArrowRight", "ArrowRight")
        said = f"“{rows[1]}” (row 2) looks at “{columns[2]}” (column 3)"
        assert said in shown.readout and said in shown.root.locator(".spoken").inner_text()
        shown.press("ArrowUp", "ArrowLeft", "ArrowLeft")
        assert f"“{rows[0]}” (row 1) looks at “{columns[0]}” (column 1)" in shown.readout
        shown.press("ArrowDown", "Enter", "ArrowDown", "ArrowRight")
        assert len(frames(shown.svg())) == 2, "a row and a column"
        shown.large.focus()
        shown.press("Escape")
        assert frames(shown.svg()) == []
        assert "In the large figure, press arrow keys" in shown.readout


def test_merging_tokens_into_words_clears_a_selection_beyond_the_last_word(browse, small_translator, trace):
    """The sentence has fewer words than tokens, so no word has the last token's index."""
    with browse(small_translator, trace, "encoder", in_tokens(look="lines")) as shown:
        shown.large.focus()
        shown.press(*["ArrowDown"] * 12, "w")
        assert "looks at" not in shown.readout
        assert len(shown.svg().findall(f"{SVG}line")) > 3


def test_keys_do_not_reach_the_map_while_the_shortcut_list_is_open(browse, small_translator, trace):
    with browse(small_translator, trace, "encoder", in_tokens(rows=(1,))) as shown:
        dialog = shown.root.get_by_role("dialog", name="Keys")
        shown.large.focus()
        shown.press("?")
        assert dialog.is_visible() and "another head or layer" in dialog.inner_text()
        shown.press("]", "Escape")
        assert not dialog.is_visible()
        assert shown.head == (1, 1) and len(frames(shown.svg())) == 1, "only the list received the keys"
        shown.root.get_by_role("button", name="Keys").click()
        dialog.get_by_role("button", name="Close").click()
        assert not dialog.is_visible()


def test_tab_key_moves_through_all_controls_with_a_visible_focus(browse, small_translator, trace):
    with browse(small_translator, trace, "encoder") as shown:
        shown.grid.focus()
        inside = "root => root.contains(document.activeElement)"
        outline = "() => getComputedStyle(document.activeElement).outline"
        passed = []
        for _ in range(40):
            if not shown.root.evaluate(inside):
                break
            assert "solid" in shown.page.evaluate(outline) and "0px" not in shown.page.evaluate(outline).split()
            passed.append(shown.page.evaluate("document.activeElement.className || document.activeElement.ariaLabel"))
            shown.press("Tab")
        assert not shown.root.evaluate(inside)
        assert {"Layer", "Head", "help", "large", "grid"} <= set(passed)


def test_weights_below_the_threshold_are_hidden_and_a_note_appears(browse, small_translator, trace):
    spread = np.zeros_like(trace.decoder)
    spread[..., 0] = 0.4
    spread += 0.6 * np.eye(spread.shape[-1])
    trace = replace(trace, decoder=spread.astype(np.float32))
    rows, columns = trace.decoder.shape[2:]
    with browse(small_translator, trace, "decoder") as shown:
        cells = shown.cells(rows, columns)
        shown.control("Hide weights below this limit, in hundredths").fill("50")
        shown.settle()
        assert "Weights below 0.50 are hidden." in shown.note
        pixels = shown.pixels(shown.large)
        x, y = (cells[..., 0] + cells[..., 2] / 4).astype(int), (cells[..., 1] + cells[..., 3] / 4).astype(int)
        drawn = pixels[y, x, 3] == 255
        assert np.array_equal(drawn, (trace.decoder[0, 0] >= 0.5) | ~trace.decoder_mask)
        assert shown.hover(*middle(cells[3, 0])).endswith("with weight 0.4000"), "the number can still be read"


@pytest.mark.parametrize(("name", "weight"), [("0 to 1", 0.25), ("square root", 0.5), ("each head its own", 1.0)])
def test_page_states_a_colour_scale_other_than_the_default(browse, small_translator, trace, name, weight):
    """All nonzero weights are 1/4, so the colour of one cell identifies the scale."""
    even = np.zeros_like(trace.encoder)
    even[..., :4] = 0.25
    trace = replace(trace, encoder=even)
    size = even.shape[-1]
    with browse(small_translator, trace, "encoder") as shown:
        shown.choose("Scale", name)
        assert np.abs(shown.colours(shown.cells(size, size))[0, 0] - VIRIDIS[weight]).max() <= 4
        assert (f"Colours: {name}." in shown.note) == (name != "0 to 1")
        legend = [text for text in texts(shown.svg()) if len(text) == 4 and text[1] == "."][-5:]
    assert (
        legend
        == {
            "0 to 1": ["0.00", "0.25", "0.50", "0.75", "1.00"],
            "square root": ["0.00", "0.06", "0.25", "0.56", "1.00"],
            "each head its own": ["0.00", "0.06", "0.13", "0.19", "0.25"],
        }[name]
    )


def coloured(component: Component, colour: str) -> int:
    """Return how many pixels of the large figure have nearly the given colour and are not almost transparent."""
    pixels = component.pixels(component.large).astype(int)
    wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    near = np.abs(pixels[..., :3] - wanted).max(axis=-1) < 40
    return int((near & (pixels[..., 3] > 40)).sum())


def lines(component: Component, colour: str) -> list[tuple[str, ...]]:
    """Return the y coordinates, width and opacity of each line of the given colour in the SVG export."""
    names = ("y1", "y2", "stroke-width", "stroke-opacity")
    return [
        tuple(line.get(name) for name in names)
        for line in component.svg().iter(f"{SVG}line")
        if line.get("stroke") == colour
    ]


@pytest.fixture(scope="module")
def crossing(trace) -> Trace:
    """Return a trace in which head 1 attends only to the first and last tokens; all other heads attend uniformly."""
    encoder = np.full_like(trace.encoder, 1 / trace.encoder.shape[-1])
    encoder[:, 0] = 0
    encoder[:, 0, :, -1], encoder[:, 0, :, 0] = 0.75, 0.25
    return replace(trace, encoder=encoder)


def test_hovering_over_a_token_shows_only_its_lines(browse, small_translator, crossing):
    size = crossing.encoder.shape[-1]
    with browse(small_translator, crossing, "encoder", in_tokens(look="lines")) as shown:
        svg = shown.svg()
        rows, _ = labels(crossing, "encoder")
        # The token's text occurs on both sides; the first occurrence is on the side of the queries.
        at = next(text.get("transform") for text in svg.iter(f"{SVG}text") if text.text == rows[1])
        x, y = map(float, at.removeprefix("translate(").partition(")")[0].split())
        everything = coloured(shown, FIRST_HEAD)
        assert len(lines(shown, FIRST_HEAD)) == 2 * size
        said = shown.hover(x - 10, y)
        assert f"“{rows[1]}” looks most at" in said
        assert 0.5 / size < coloured(shown, FIRST_HEAD) / everything < 2.5 / size
        shown.click(x - 10, y)
        remaining = lines(shown, FIRST_HEAD)
        assert len(remaining) == 2 and len({line[0] for line in remaining}) == 1, "both from one token"


def test_selecting_a_second_head_does_not_change_the_lines_of_the_first_head(browse, small_translator, crossing):
    with browse(small_translator, crossing, "encoder", in_tokens(look="lines")) as shown:
        alone = lines(shown, FIRST_HEAD)
        assert lines(shown, SECOND_HEAD) == []
        chip = shown.control("head 2")
        chip.click()
        shown.settle()
        assert chip.get_attribute("aria-pressed") == "true"
        assert coloured(shown, SECOND_HEAD) > 100
        assert lines(shown, FIRST_HEAD) == alone
        assert len(lines(shown, SECOND_HEAD)) == crossing.encoder.shape[-1] ** 2
        shown.control("head 2").click()
        shown.settle()
        assert lines(shown, SECOND_HEAD) == [] and lines(shown, FIRST_HEAD) == alone


def test_head_button_keeps_the_focus_when_enter_toggles_it(browse, small_translator, crossing):
    with browse(small_translator, crossing, "encoder", in_tokens(look="lines")) as shown:
        chip = shown.control("head 2")
        chip.focus()
        for pressed in ("true", "false"):
            shown.press("Enter")
            assert chip.get_attribute("aria-pressed") == pressed
        expect(chip).to_be_focused()


def test_weights_of_shift_clicked_tokens_are_summed(browse, small_translator, crossing):
    rows, columns = crossing.encoder.shape[2:]
    with browse(small_translator, crossing, "encoder") as shown:
        cells = shown.cells(rows, columns)
        left = float(cells[0, 0, 0]) - 10
        shown.click(left, middle(cells[1, 0])[1])
        assert "sum" not in shown.note
        cells = shown.cells(rows, columns)
        shown.click(left, middle(cells[3, 0])[1], "Shift")
        assert "The bars below show the sum of the 2 selected rows." in shown.note
        svg = shown.svg()
        assert "sum of 2 rows" in texts(svg) and len(frames(svg)) == 2
        bottom = float(cells[-1, 0, 1] + cells[-1, 0, 3])
        heights = [float(one.get("height")) for one in svg.iter(f"{SVG}rect") if float(one.get("y")) == bottom + 8]
        sums = crossing.encoder[0, 0, [1, 3]].sum(axis=0)
        assert np.allclose(np.array(heights) / max(heights), sums / sums.max(), atol=1e-3)
        shown.click(left, middle(cells[1, 0])[1], "Shift")
        assert "sum" not in shown.note and len(frames(shown.svg())) == 1


def test_pins_in_a_saved_file_apply_only_to_the_attention_kind_shown_first(browse, small_translator, trace):
    with browse(small_translator, trace, "encoder", in_tokens(rows=(1,))) as shown:
        rows, _ = labels(trace, "encoder")
        assert f"“{rows[1]}” looks most at" in shown.readout
        for kind in ("decoder", "cross"):
            expect(shown.page.locator(f".atlas[data-drawn^='{kind} '] .readout")).to_contain_text("Hover over a cell")


def test_page_with_a_map_of_128_tokens_has_fewer_than_3000_dom_nodes(shipped, browse):
    trace = shipped.trace("dog cat " * 63 + "dog", "Hund Katze " * 63 + "Hund")
    assert len(trace.source_tokens) == 128
    with browse(shipped, trace, "encoder", in_tokens(look="lines")) as shown:
        assert shown.page.evaluate("document.querySelectorAll('*').length") < 3000
        shown.choose("Show as", "map")
        shown.choose("Head", "7")
        assert shown.page.evaluate("document.querySelectorAll('*').length") < 3000


def test_map_of_over_100_tokens_is_not_cut_off_on_a_phone(browse, small_translator):
    trace = small_translator.trace("a b " * 10, "c d " * 40)
    rows, columns = trace.decoder.shape[2:]
    with browse(small_translator, trace, "decoder", viewport={"width": 390, "height": 844}) as shown:
        x, _, width, _ = shown.cells(rows, columns)[-1, -1]
        assert columns > 100 and x + width <= shown.large.bounding_box()["width"]
