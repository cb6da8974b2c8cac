"""Tests that the attention browser's maps and readouts show the received weights, on traces with known attention."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from pages.ui.text.number_format import rounded
from tests.browser.component import VIRIDIS, in_tokens, labels, middle, texts
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.heads.names import head_names
from transformer.values.trace import Trace

SAID = re.compile(
    r"\(row (\d+)\) (?:looks at “.*” \(column (\d+)\) with weight ([\d.]+)|cannot look at “.*”: masked)", re.S
)


@pytest.fixture(scope="module")
def known(small_translator) -> Trace:
    """Return a trace with known attention.

    Each encoder head has a different permutation matrix. Decoder heads attend uniformly to all visible tokens. In
    cross-attention, the second row puts all weight on one token, and the other rows are uniform.
    """
    trace = small_translator.trace("The dog reads.", "Der Hund liest.")
    layers, heads, size, _ = trace.encoder.shape
    encoder = np.stack([np.roll(np.eye(size), shift, axis=1) for shift in range(1, layers * heads + 1)])
    triangle = np.tri(trace.decoder.shape[-1])
    cross = np.full_like(trace.cross, 1 / size)
    cross[..., 1, :] = np.eye(size)[2]
    return replace(
        trace,
        encoder=encoder.reshape(trace.encoder.shape).astype(np.float32),
        cross=cross,
        decoder=np.broadcast_to(triangle / triangle.sum(axis=1, keepdims=True), trace.decoder.shape).astype(np.float32),
    )


@pytest.fixture(scope="module")
def scale(small_translator) -> Trace:
    """Return a trace with one encoder row per weight w in VIRIDIS: w is in the first column, 1 - w in the last one."""
    trace = small_translator.trace("The dog reads.", "Der Hund liest.")
    weights = np.zeros_like(trace.encoder)
    weights[..., -1] = 1.0
    for row, weight in enumerate(VIRIDIS):
        weights[..., row, 0], weights[..., row, -1] = weight, 1 - weight
    return replace(trace, encoder=weights)


def size(trace: Trace, kind: str) -> tuple[int, int]:
    return trace.attention(kind).shape[2:]


def test_cells_have_the_published_viridis_colours(browse, small_translator, scale):
    with browse(small_translator, scale, "encoder") as shown:
        drawn = shown.colours(shown.cells(*size(scale, "encoder")))
    for row, colour in enumerate(VIRIDIS.values()):
        assert np.abs(drawn[row, 0] - colour).max() <= 4


@pytest.mark.parametrize(
    ("layer", "head"), [(1, 2), *(pytest.param(*head, marks=pytest.mark.thorough) for head in ((0, 0), (0, 3)))]
)
def test_brightest_cells_of_the_map_are_those_with_a_weight_of_one(browse, small_translator, known, layer, head):
    with browse(small_translator, known, "encoder", in_tokens(layer=layer, head=head)) as shown:
        cells = shown.cells(*size(known, "encoder"))
        bright = (np.abs(shown.colours(cells) - VIRIDIS[1.0]) <= 4).all(axis=-1)
        dark = (np.abs(shown.colours(cells) - VIRIDIS[0.0]) <= 4).all(axis=-1)
        weights = known.encoder[layer, head]
        assert (bright == (weights == 1)).all() and (dark == (weights == 0)).all()
        rows, columns = labels(known, "encoder")
        for row, column in ((0, 0), (0, 2), (3, 1), (len(rows) - 1, len(columns) - 1)):
            said = shown.hover(*middle(cells[row, column]))
            assert f"“{rows[row]}” (row {row + 1}) looks at “{columns[column]}” (column {column + 1})" in said
            assert said.endswith(f"with weight {weights[row, column]:.4f}")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.thorough), "dark"])
def test_masked_cell_looks_different_from_a_cell_with_weight_zero(browse, small_translator, known, scheme):
    mask = known.decoder_mask
    empty = np.where(np.tri(len(mask), k=-1, dtype=bool), 0, known.decoder)
    empty[..., 0, 0] = 0
    trace = replace(known, decoder=empty)
    with browse(small_translator, trace, "decoder", color_scheme=scheme) as shown:
        cells = shown.cells(*size(trace, "decoder"))
        drawn = shown.colours(cells)
        masked, zero = drawn[~mask], drawn[mask & (trace.decoder[0, 0] == 0)]
        assert len(np.unique(masked, axis=0)) == 1 and (np.abs(zero - VIRIDIS[0.0]) <= 4).all()
        shades = np.abs(shade_table() - masked[0]).max(axis=-1)
        assert shades.min() > 20, "no weight has the colour of a masked cell"
        pixels = shown.pixels(shown.large)[..., :3].astype(int)
        x, y = middle(cells[0, 3])
        around = pixels[int(y) - 6 : int(y) + 6, int(x) - 6 : int(x) + 6]
        assert np.abs(around - masked[0]).max() > 20, "hatched"
        assert shown.hover(*middle(cells[0, 3])).endswith("masked")
        assert shown.hover(*middle(cells[3, 1])).endswith("with weight 0.0000")


def shade_table() -> np.ndarray:
    """Return 101 RGB colours, interpolated between the known colours in VIRIDIS."""
    places = np.linspace(0, 1, 101)
    return np.stack([np.interp(places, list(VIRIDIS), channel) for channel in zip(*VIRIDIS.values(), strict=True)], -1)


# One attention kind suffices in most test runs, because tests/javascript checks the weights of all kinds.
@pytest.mark.parametrize(
    "kind", ["decoder", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("encoder", "cross"))]
)
def test_readout_and_exports_show_the_weights_of_the_trace(browse, small_translator, kind):
    random = np.random.default_rng(7)
    trace = small_translator.trace("The dog reads.", "Der Hund liest.")
    scores = random.normal(scale=3, size=trace.attention(kind).shape)
    weights = np.where(trace.mask(kind), np.exp(scores), 0)
    weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    trace = replace(trace, **{kind: weights})
    layer, head = 1, 2
    expected = np.where(trace.mask(kind), rounded(weights[layer, head]), np.nan)
    rows, columns = labels(trace, kind)
    with browse(small_translator, trace, kind, in_tokens(layer=layer, head=head)) as shown:
        reported = shown.table()
        assert [(one["from"], one["to"]) for one in reported] == [(row, column) for row in rows for column in columns]
        written = [one["weight"] for one in reported]
        assert written == ["masked" if np.isnan(value) else f"{value:.4f}" for value in expected.ravel()]
        saved = json.loads(shown.save("JSON"))
        assert (saved["kind"], saved["layer"], saved["head"]) == (kind, layer + 1, head + 1)
        assert (saved["from"], saved["to"]) == (rows, columns)
        assert np.array_equal(np.array(saved["weights"], dtype=float), expected, equal_nan=True)
        cells = shown.cells(len(rows), len(columns))
        for row, column in [(int(random.integers(len(rows))), int(random.integers(len(columns)))) for _ in range(12)]:
            reported = SAID.search(shown.hover(*middle(cells[row, column])))
            assert int(reported[1]) == row + 1
            if np.isnan(expected[row, column]):
                assert reported[0].endswith("masked")
            else:
                assert (int(reported[2]), reported[3]) == (column + 1, f"{expected[row, column]:.4f}")
        numbers = [f"{weight:.2f}" for weight in weights[layer, head].ravel() if weight >= 0.005]
        assert texts(shown.svg())[: len(numbers)] == numbers


@pytest.mark.thorough
def test_small_maps_and_their_readouts_show_the_weights_of_the_trace(browse, small_translator, known):
    names = head_names(head_metrics(known, "encoder", small_translator.tokenizer.scores))
    with browse(small_translator, known, "encoder") as shown:
        box = shown.grid.bounding_box()
        pixels = shown.pixels(shown.grid)[..., :3].astype(int)
        random, seen = np.random.default_rng(3), set()
        for _ in range(200):
            x, y = (int(random.uniform(0.1, 0.99) * box[side]) for side in ("width", "height"))
            around = pixels[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3)
            if len(around) < 25 or (around != around[0]).any():
                continue
            weight = next((one for one in (0.0, 1.0) if np.abs(around[0] - VIRIDIS[one]).max() <= 4), None)
            # Most cells have weight 0, so check only some of these.
            if weight is None or (weight == 0.0 and len(seen) > 5 and random.random() < 0.8):
                continue
            shown.grid.hover(position={"x": x, "y": y})
            shown.settle()
            place = re.match(r"Layer (\d), head (\d)(?:: ([^.]+))?\.", shown.readout)
            reported = SAID.search(shown.readout)
            layer, head, row, column = (int(one) - 1 for one in (place[1], place[2], reported[1], reported[2]))
            assert float(reported[3]) == weight == known.encoder[layer, head, row, column]
            assert (place[3] or "") == ", ".join(names[layer][head])
            seen.add((layer, head))
        assert len(seen) > 3
