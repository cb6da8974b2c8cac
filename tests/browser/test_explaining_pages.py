import re

import numpy as np
import pytest

from tests.browser.test_every_page import CUT_FORMULAS
from transformer.model.sinusoids import sinusoids

pytestmark = pytest.mark.thorough

DREAM = "text=I+have+a+dream.&layer=2&head=5"
# Stages with the widest formulas and tensors; tests/browser/test_every_page.py opens the first stage of each part.
STAGES = [
    f"/backpropagation?{DREAM}&backward_stage={stage}"
    for stage in (
        "decoder.output.norm",
        "decoder.cross_attention.scores",
        "encoder.memory",
        "encoder.self_attention.read",
        "encoder.table",
    )
] + [
    f"/inside_a_layer?{DREAM}&inside_stage={stage}"
    for stage in (
        "encoder.positions",
        "encoder.self_attention.weights",
        "decoder.cross_attention.written",
        "decoder.feed_forward.written",
        "generator.probabilities",
    )
]


def drawn(reader, count=1):
    """Wait until `count` figures are drawn."""
    figures = reader.page.locator(
        "[data-testid=stPlotlyChart] .main-svg, [data-testid=stVegaLiteChart] canvas, "
        "[data-testid=stVegaLiteChart] svg, [data-testid=stDataFrame] canvas"
    )
    figures.nth(count - 1).wait_for()


@pytest.mark.parametrize("path", STAGES)
def test_widest_stages_of_the_computation_fit_the_screen(reader, path):
    reader.open(path)
    drawn(reader)
    for (width, height), scheme in (((1440, 900), "light"), ((1024, 768), "dark")):
        reader.resize(width, height)
        reader.page.emulate_media(color_scheme=scheme)
        reader.wait()
        # The page takes a moment to adopt the new width.
        reader.fits(path)
        reader.page.wait_for_function(f"() => !({CUT_FORMULAS})().length")
        drawn(reader)


def test_user_reaches_the_position_curves_in_five_clicks(shipped, visit, server):
    """A lecturer types a sentence. Five clicks lead to a map of its four words, the computation of a cell, and the
    distance between positions 3 and 4.
    """
    trace = shipped.trace("i have a dream")
    with visit(server, viewport={"width": 1024, "height": 768}) as lecturer:
        page = lecturer.page
        lecturer.open("/encoder_attention")
        lecturer.maps(1)
        lecturer.translate("i have a dream")
        page.wait_for_url(re.compile("text=i"))
        # For a new sentence, the attention browser opens at the head that the server requests.
        lecturer.wait()
        lecturer.control("Hide start and end").check()
        page.wait_for_url(re.compile("hide=true"))
        lecturer.wait()
        page.get_by_role("button", name="How is this cell computed?").click()
        page.wait_for_url(re.compile("inside_a_layer.*inside_part=cell"))
        lecturer.see("1 and 2. Query times key")
        cells = page.locator("[data-testid=stVegaLiteChart]").first.locator("path[aria-roledescription='rect mark']")
        lecturer.drawn(cells.nth(2 * len(trace.source_tokens) + 3))
        cells.nth(2 * len(trace.source_tokens) + 3).click()
        page.wait_for_url(re.compile(r"encoder_rows=2&encoder_columns=3"))
        # The page shows the head that it suggests for this sentence.
        shown = re.search(r"Layer (\d+), head (\d+)", page.get_by_test_id("stMain").inner_text())
        layer, head = (int(number) - 1 for number in shown.groups())
        lecturer.see(f"{trace.encoder[layer, head, 2, 3]:.4f}")
        page.get_by_role("button", name="How does position 3 differ from position 4?").click()
        page.wait_for_url(re.compile("positional_encoding.*positions_width=256"))
        lecturer.see("positions 3 and 4 are")
        lecturer.see("These are the curves of this app's model")
        table = sinusoids(4, 256)
        lecturer.see(f"{np.linalg.norm(table[2] - table[3]):.2f}")


def test_map_toolbar_covers_no_control(visit, server):
    with visit(server, viewport={"width": 1024, "height": 768}) as someone:
        someone.open(f"/inside_a_layer?{DREAM}&inside_part=cell")
        drawn(someone)
        someone.page.locator("[data-testid=stVegaLiteChart]").first.hover()
        someone.page.get_by_role("radio", name="Cross attention").click(timeout=5_000)
        someone.page.wait_for_url(re.compile("inside_kind=cross"))


def test_clicking_a_cell_of_a_gradient_map_shows_its_sum(shipped, reader):
    """The second click repeats the first, to check that a cell can be clicked again."""
    columns = len(shipped.trace("I have a dream.").source_tokens)
    reader.open(f"/backpropagation?{DREAM}&backward_stage=decoder.cross_attention.scores")
    for row, column in ((2, 3), (2, 3), (4, 1)):
        cells = reader.page.locator("[data-testid=stVegaLiteChart] path[aria-roledescription='rect mark']")
        reader.drawn(cells.nth(row * columns + column))
        cells.nth(row * columns + column).click()
        reader.page.wait_for_url(re.compile(rf"backward_row={row + 1}&backward_column={column + 1}"))
        reader.wait()
        reader.see("The 2 terms add up to")


def test_cell_can_be_clicked_again_after_choosing_another_cell_in_a_select_box(shipped, reader):
    columns = len(shipped.trace("I have a dream.").source_tokens)
    reader.open(f"/inside_a_layer?{DREAM}&inside_part=cell&rows=0&columns=0")
    cells = reader.page.locator("[data-testid=stVegaLiteChart]").first.locator("path[aria-roledescription='rect mark']")
    reader.drawn(cells.nth(2 * columns + 3))
    cells.nth(2 * columns + 3).click()
    reader.page.wait_for_url(re.compile(r"encoder_rows=2&encoder_columns=3"))
    reader.wait()
    reader.page.get_by_role("combobox", name=re.compile("the token that looks")).click()
    reader.page.get_by_role("option").nth(1).click()
    reader.page.wait_for_url(re.compile(r"encoder_rows=1&encoder_columns=3"))
    reader.wait()
    reader.drawn(cells.nth(2 * columns + 3))
    cells.nth(2 * columns + 3).click()
    reader.page.wait_for_url(re.compile(r"encoder_rows=2&encoder_columns=3"))
