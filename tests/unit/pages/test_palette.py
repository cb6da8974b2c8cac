import base64
import io

import altair as alt
import numpy as np
import plotly.graph_objects as go
from PIL import Image

from attention_atlas.browser.palette import PALETTE, pixels, shades
from attention_atlas.browser.scripts import script
from pages.ui.charts.palette import DIVERGING, MASKED, VIRIDIS, colorscale, diverging, sequential
from pages.ui.charts.thumbnail import data_uri, thumbnail
from pages.ui.params.attention import PALETTES


def rgb(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def test_script_contains_every_palette_of_the_menu():
    assert list(PALETTES) == list(PALETTE["sequential"])
    assert script("attention_browser/attention_browser").count("const PALETTE = ") == 1


def test_colour_scales_have_known_colours_at_their_ends_and_middle():
    assert pixels(np.array([0.0, 1.0]), VIRIDIS).tolist() == [rgb("#440154"), rgb("#fde725")]
    assert pixels(np.array([0.0, 0.5, 1.0]), DIVERGING).tolist() == [rgb("#2166ac"), rgb("#f7f7f7"), rgb("#b2182b")]
    assert shades(3) == ["#440154", "#22908c", "#fde725"]


def test_altair_plotly_and_thumbnails_use_the_same_colours():
    scale = diverging(2.0).to_dict()
    assert (scale["domain"][0], scale["domain"][3], scale["domain"][-1]) == (-2.0, 0.0, 2.0)
    assert scale["range"] == DIVERGING and sequential().to_dict()["range"] == VIRIDIS
    assert [colour for _, colour in colorscale(DIVERGING)] == DIVERGING
    go.Heatmap(colorscale=colorscale(VIRIDIS))
    alt.Chart(alt.Data(values=[])).mark_rect().encode(color=alt.Color("a:Q", scale=sequential(3.0))).to_dict()
    small = thumbnail(np.array([[-1.0, 0.0, 1.0, np.nan]]))
    assert [small[0, at].tolist() for at in (0, 200, 300, 511)] == [
        rgb(DIVERGING[0]),
        rgb(DIVERGING[3]),
        rgb(DIVERGING[-1]),
        rgb(MASKED),
    ]


def test_saved_map_image_has_the_colours_of_the_scale():
    weights = np.array([np.linspace(0, 1, 1_000), np.full(1_000, np.nan)])
    png = base64.b64decode(data_uri(weights).partition(",")[2])
    found = np.array(Image.open(io.BytesIO(png)).convert("RGB"), dtype=int)
    assert np.abs(found[0] - pixels(weights[0], VIRIDIS)).max() <= 2
    assert (found[1] == pixels(np.zeros(1), [MASKED])).all()
