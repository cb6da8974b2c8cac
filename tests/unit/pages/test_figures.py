from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from pages.ui.colours import MASKED_RGB, SCALE, colours, picture
from PIL import Image

from pages.ui.figures import SCALES, cells, column_labels, heatmap, overview, row_labels, scaled
from transformer.analysis.view import view_of
from transformer.trace import KINDS


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator.read("The dog and the dog.", "Der Hund und der Hund.")


def test_a_decoder_row_names_what_it_reads_and_what_it_predicts(trace):
    view = view_of(trace, "decoder", words=True)
    assert row_labels(view)[0].startswith("in: <s> start → out: ␣")
    assert row_labels(view)[2].startswith("in: Hund → out: ")
    assert column_labels(view)[:3] == ["<s> start", "Der", "Hund"]


def test_equal_pieces_stay_two_places(trace):
    view = view_of(trace, "encoder", words=True)
    assert column_labels(view).count("dog") == 1 and "dog." in column_labels(view)
    spec = heatmap(view, 0, 0, scale=SCALES[0]).to_dict()
    assert spec["layer"][0]["encoding"]["x"]["field"] == "column", "axes are positions, labels only name them"


@pytest.mark.parametrize("kind", KINDS)
def test_cells_say_what_the_tensor_says(trace, kind):
    view = view_of(trace, kind)
    table = cells(view, 1, 2)
    for row, column, weight in zip(table["row"], table["column"], table["weight"], strict=True):
        if view.mask[row - 1, column - 1]:
            assert weight == f"{trace.attention(kind)[1, 2, row - 1, column - 1]:.4f}"
        else:
            assert weight == "masked"
    assert len(table) == view.mask.size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
def test_every_figure_is_a_valid_specification(trace, kind, scale):
    view = view_of(trace, kind)
    spec = heatmap(view, 0, 1, scale=scale).to_dict()
    hatched = [layer for layer in spec["layer"] if layer["mark"].get("type") == "rule"]
    assert bool(hatched) == (kind == "decoder")
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == [0, 1]
    titles = {spec["layer"][0]["encoding"][axis]["title"] for axis in "xy"}
    assert titles == {"from: the piece that looks", "to: the piece looked at"}
    grid = overview(view, (1, 2), scale=scale).to_dict()
    images = next(iter(grid["datasets"].values()))
    assert len(images) == view.layers * view.heads
    assert [(i["layer"], i["head"]) for i in images if i["chosen"]] == [(2, 3)]


def test_hostile_text_stays_a_string_in_the_specification(small_translator):
    trace = small_translator.translate('"];alert(1)//</script><b>x')
    view = view_of(trace, "encoder", words=True)
    expression = heatmap(view, 0, 0, scale=SCALES[0]).to_dict()["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    assert expression.startswith('["\\"];alert(1)//</script><b>x", ')


def test_small_maps_have_the_colours_of_the_large_one():
    values = np.array([[0.0, 1.0], [0.5, 0.25]])
    mask = np.array([[True, True], [False, True]])
    address = picture(values, mask)
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,")))))
    assert pixels.shape == (2, 2, 3)
    assert tuple(pixels[0, 0]) == tuple(bytes.fromhex(SCALE[0][1:]))
    assert tuple(pixels[0, 1]) == tuple(bytes.fromhex(SCALE[-1][1:]))
    assert tuple(pixels[1, 0]) == MASKED_RGB and MASKED_RGB not in {tuple(c) for c in colours(np.linspace(0, 1, 999))}


def test_scales():
    weights = np.array([[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(scaled(weights, SCALES[0]), weights)
    np.testing.assert_allclose(scaled(weights, SCALES[1]).max(), 1)
    np.testing.assert_allclose(scaled(weights, SCALES[2]) ** 2, weights)
    assert not scaled(np.zeros((2, 2)), SCALES[1]).any()
