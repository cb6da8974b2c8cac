"""Tests of saved figures: Chromium saves them, and other programs read them."""

import base64
import io
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.figure_files import SVG, check_pdf, drawing, furthest_label, labels, save
from tests.browser.test_accessibility import charts

ONE, TWO = "one column (77 mm)", "two columns (160 mm)"
SENTENCE = "The animal didn't cross the street."
LIGHT_TEXT, WHITE, DARK_BACKGROUND = "#0f172a", "#ffffff", "#0f1420"
# Layout widths in pixels, without the extra room for labels that extend beyond a chart.
LAYOUT = {ONE: range(354, 370), TWO: range(736, 752)}
# Text that could be read as markup, a formula or an HTML entity. The PDF fonts lack its last two characters.
UNTRUSTED = '<b>x</b> &amp; "><script>alert(1)</script> =1+2 日本'


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGBA"))


# Thorough runs are enough, because test_attention_exports.py compares exported maps with the weights in every run.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("place", "title", "street"),
    [
        (".st-key-figure_alignment", "One row per German token", "␣Straße"),
        (".atlas", "Cross attention, layer", "Straße"),
    ],
    ids=["chart", "map"],
)
def test_charts_and_maps_in_the_dark_theme_can_be_exported_in_light_colours(reader, place, title, street):
    reader.page.emulate_media(color_scheme="dark")
    reader.open(f"/cross_attention?text={quote(SENTENCE)}")
    reader.maps(1)
    reader.page.locator(".st-key-figure_alignment svg .role-axis-label text").first.wait_for()
    reader.wait()
    figure = reader.page.locator(place)
    svg = drawing(figure, width=ONE, light=True)
    written = labels(svg)
    assert svg.get("width") == "77mm" and int(svg.get("viewBox").split()[2]) in LAYOUT[ONE]
    assert any(text.startswith(title) for text in written) and any("animal" in text for text in written)
    background = svg.find(f"{SVG}rect").get("fill")
    assert background == WHITE and LIGHT_TEXT in {text.get("fill") for text in svg.iter(f"{SVG}text")}
    distance, label, compared = furthest_label(svg, save(figure, "PNG 2×", width=ONE, light=True))
    assert distance <= 2 and compared >= 8, (distance, label, compared)
    check_pdf(save(figure, "PDF", width=ONE, light=True), 77, title, street)
    png = pixels(save(figure, "PNG 4×", width=TWO, light=True, transparent=True, caption=False))
    assert png.shape[1] / 4 in LAYOUT[TWO] and png[0, 0, 3] == 0
    bare = drawing(figure, caption=False)
    assert not any(text.startswith(title) for text in labels(bare))
    assert bare.find(f"{SVG}rect").get("fill").lower() in (DARK_BACKGROUND, "rgb(15, 20, 32)")


@pytest.mark.thorough
def test_copy_link_button_copies_the_page_url(reader):
    reader.open(f"/cross_attention?text={quote(SENTENCE)}")
    chart = reader.page.locator(".st-key-figure_alignment")
    chart.locator("svg .role-axis-label text").first.wait_for()
    reader.wait()
    chart.locator(".save summary").click()
    # A click elsewhere closes the menu.
    reader.page.get_by_label("English sentence").click()
    expect(chart.locator(".save .choices")).to_be_hidden()
    reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chart.locator(".save summary").click()
    chart.get_by_role("button", name="Copy link").click()
    chart.get_by_text("Link copied.").wait_for()
    assert reader.page.evaluate("navigator.clipboard.readText()") == reader.page.url


@pytest.mark.thorough
def test_plotly_figure_is_exported_at_the_chosen_print_width(reader):
    reader.open(f"/positional_encoding?positions_part=curves&text={quote(SENTENCE)}")
    figure = reader.page.locator(".st-key-figure_positions_curves")
    figure.locator(".legendtext").first.wait_for()
    wide = figure.bounding_box()["width"]
    svg = drawing(figure, width=TWO)
    assert {"position", "value of the encoding", "dimension 4"} <= set(labels(svg))
    distance, label, compared = furthest_label(svg, save(figure, "PNG 2×", width=TWO))
    assert distance <= 2 and compared >= 8, (distance, label, compared)
    check_pdf(save(figure, "PDF", width=TWO), 160, "dimension 4", "Values of dimensions")
    assert figure.bounding_box()["width"] == wide, "the page is as it was"


@pytest.mark.thorough
def test_decoding_step_and_beam_tree_are_saved_as_separate_figures(visit, server):
    with visit(server, color_scheme="dark") as reader:
        reader.open(f"/decoding?method=beam&step=3&text={quote(SENTENCE)}")
        reader.page.locator(".steps[data-drawn$=' 3']").wait_for()
        reader.wait()
        step, tree = (reader.page.locator(f".st-key-figure_{name}") for name in ("decoding_steps", "beam_tree"))
        for width, size in ((ONE, 77), (TWO, 160)):
            svg = drawing(step, width=width, light=True)
            written = labels(svg)
            assert any(text.startswith("Step 3 of ") for text in written) and "␣animal" in written
            assert svg.find(f"{SVG}rect").get("fill") == WHITE
            distance, label, compared = furthest_label(svg, save(step, "PNG 2×", width=width, light=True))
            assert distance <= 2 and compared >= 8, (distance, label, compared)
            check_pdf(save(step, "PDF", width=width, light=True), size, "Step 3 of", "animal")
        written = labels(drawing(tree))
        assert "step 1" in written and not any(text.startswith("Step 3") for text in written)
        # The saved file shows the same view as the screen.
        reader.page.get_by_role("button", name="Next step").click()
        reader.page.locator(".steps[data-drawn$=' 4']").wait_for()
        assert any(text.startswith("Step 4 of ") for text in labels(drawing(step)))


@pytest.mark.thorough
def test_large_map_is_saved_as_one_image_with_text_labels(visit, server):
    with visit(server, color_scheme="dark") as reader:
        # This head spreads its attention over many tokens, so the cells have many colours.
        reader.open(f"/inside_a_layer?inside_part=cell&layer=3&head=1&text={quote(' '.join([SENTENCE] * 6))}")
        figure = reader.page.locator("[class*=st-key-figure_inside_map]")
        figure.locator("canvas").wait_for()
        reader.wait()
        svg = drawing(figure, light=True)
        (cells,) = (each for each in svg.iter(f"{SVG}image") if float(each.get("width")) > 100)
        assert len(list(svg.iter(f"{SVG}path"))) < 500
        found = pixels(base64.b64decode(cells.get("{http://www.w3.org/1999/xlink}href").partition(",")[2]))
        assert len(np.unique(found.reshape(-1, 4), axis=0)) > 100 and (found[..., 3] == 255).all()
        assert any("animal" in text for text in labels(svg))
        assert {text.get("fill") for text in svg.iter(f"{SVG}text")} == {LIGHT_TEXT}
        assert svg.find(f"{SVG}rect").get("fill") == WHITE
        distance, label, compared = furthest_label(svg, save(figure, "PNG 2×", light=True))
        assert distance <= 2 and compared >= 8, (distance, label, compared)
        check_pdf(save(figure, "PDF", light=True, width=TWO), 160, "animal")
        assert figure.locator("svg.marks").count() == 0, "the page is as it was"


@pytest.mark.thorough
def test_untrusted_text_is_escaped_in_saved_svg_and_pdf_files(reader):
    reader.open(f"/inside_a_layer?inside_part=cell&text={quote(UNTRUSTED)}")
    figure = reader.page.locator("[class*=st-key-figure_]:has(.role-axis-label)").first
    figure.locator(".role-axis-label text").first.wait_for()
    reader.wait()
    written = "".join(labels(drawing(figure, width=TWO))).replace("␣", "")
    for part in ("<b>x</b>", "&amp;", "<script>", "=1+2", "日本"):
        assert part in "".join(written.split()), part
    # Characters that both fonts lack are embedded as images.
    check_pdf(save(figure, "PDF", width=TWO), 160, "script", "<")
    assert reader.page.evaluate("document.querySelectorAll('script').length") < 20


@pytest.mark.thorough
@pytest.mark.parametrize(
    "path",
    [
        "/?",
        "/cross_attention?",
        "/decoding?method=beam",
        "/switch_heads_off?off_heads=cross.1.8",
        "/compare_heads?compare_part=heads",
        "/compare_heads?compare_part=similarity",
        "/compare_heads?compare_part=two_heads",
        "/compare_heads?compare_part=layers",
        "/what_mattered?",
        *(f"/positional_encoding?positions_part={part}" for part in ("curves", "distances", "alternatives")),
        "/inside_a_layer?inside_stage=encoder.self_attention.weights",
        "/inside_a_layer?inside_part=cell",
        "/inside_a_layer?inside_part=mask",
        "/about?",
    ],
)
def test_saved_figures_have_the_same_colours_in_both_themes(reader, path):
    found = {}
    for scheme in ("light", "dark"):
        reader.page.emulate_media(color_scheme=scheme)
        reader.open(f"{path}&text={quote(SENTENCE)}")
        figures = reader.page.locator("[class*=st-key-figure_]:visible:has(.save)")
        figures.first.wait_for()
        charts(reader.page)
        # A figure's menu appears after the figure is drawn, and Vega redraws a figure once its width is known.
        reader.page.wait_for_timeout(1_000)
        for figure in figures.all():
            name = figure.get_attribute("class").split("st-key-figure_")[1].split()[0]
            svg = drawing(figure, light=True)
            colours = {e.get(key) or "" for e in svg.iter() for key in ("fill", "stroke", "stop-color")}
            # Gradient ids differ from file to file.
            colours = {colour for colour in colours if not colour.startswith("url(")}
            found.setdefault(name, []).append(colours)
    assert found
    for name, (light, dark) in found.items():
        assert light == dark, (name, light ^ dark)
