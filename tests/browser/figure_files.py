"""Saves figures through their menus, and reads the saved files with other programs."""

import io
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import resvg_py
from PIL import Image
from playwright.sync_api import Locator
from pypdf import PdfReader

SVG = "{http://www.w3.org/2000/svg}"
FONTS = [str(path) for path in (Path(__file__).parents[2] / "assets" / "fonts").glob("*.ttf")]
# SVG elements that a saved figure may contain. None of them can run code, and `drawing` checks that they fetch nothing.
ELEMENTS = {
    "svg",
    "desc",
    "metadata",
    "g",
    "path",
    "rect",
    "line",
    "circle",
    "polyline",
    "polygon",
    "text",
    "tspan",
    "image",
    "defs",
    "clipPath",
    "linearGradient",
    "stop",
    "marker",
}
# Typographic points per millimetre.
POINT = 72 / 25.4
DENSITY = 2
# Symbol that stands for a space. Source Sans has no glyph for this symbol.
MARK = "␣"


def save(figure: Locator, name: str, *, width: str = "as on the screen", **chosen: bool) -> bytes:
    """Save a figure through its menu, and return the content of the file.

    Args:
        figure: element that contains the menu.
        name: file format, as the menu's button names it.
        width: option to select in the menu's width box.
        chosen: whether to tick each checkbox. A keyword is the first word of a label: caption, transparent, light.
    """
    # The last menu belongs to this figure; earlier menus belong to figures inside this one.
    menu = figure.locator(".save").last
    menu.locator("summary").click()
    menu.get_by_label("Width").select_option(label=width)
    for label in ("Caption", "Transparent", "Light colours"):
        box = menu.get_by_label(label, exact=True)
        box.set_checked(chosen.get(label.split()[0].lower(), label == "Caption"))
    with figure.page.expect_download() as download:
        menu.get_by_role("button", name=name, exact=True).click()
    # The menu confirms the download once the page has its usual layout again, and stays open for the next format.
    menu.get_by_text(f"{name} saved.").wait_for()
    # An open menu may cover the menu of the next figure.
    menu.locator("summary").press("Escape")
    return Path(download.value.path()).read_bytes()


def drawing(figure: Locator, **options: object) -> ElementTree.Element:
    """Return the root of a figure's SVG, after checking that its elements and attributes are safe."""
    root = ElementTree.fromstring(save(figure, "SVG", **options))
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ELEMENTS, element.tag
        for key, value in element.attrib.items():
            assert not key.startswith("on") and key not in ("style", "class", "dominant-baseline"), key
            assert "href" not in key or value.startswith("data:image/"), value
            assert "url(" not in value or value.startswith("url(#"), value
    return root


def labels(root: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def rendered(root: ElementTree.Element, background: str | None = None) -> np.ndarray:
    """Render an SVG with resvg, independently of the browser, as RGBA with DENSITY pixels per CSS pixel."""
    size = root.get("viewBox").split()[2:]
    in_pixels = ElementTree.Element(root.tag, {**root.attrib, **dict(zip(("width", "height"), size, strict=True))})
    in_pixels.extend(root)
    picture = resvg_py.svg_to_bytes(
        svg_string=ElementTree.tostring(in_pixels, encoding="unicode"),
        font_files=FONTS,
        skip_system_fonts=True,
        zoom=DENSITY,
        background=background,
    )
    return np.asarray(Image.open(io.BytesIO(bytes(picture))).convert("RGBA"))


def only(root: ElementTree.Element, kept: ElementTree.Element) -> ElementTree.Element:
    """Return a copy of an SVG without any elements except `kept` and its ancestors."""

    def copy(element: ElementTree.Element) -> ElementTree.Element | None:
        if element is kept:
            return kept
        made = ElementTree.Element(element.tag, element.attrib)
        made.extend(child for child in map(copy, element) if child is not None)
        return made if len(made) or element is root else None

    copied = copy(root)
    assert copied is not None
    return copied


def ink(dark: np.ndarray) -> np.ndarray | None:
    """Return the left, top, right and bottom edges of the dark pixels, or None if no pixel is dark.

    Args:
        dark: whether each pixel is dark, bool [height, width].
    """
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    return np.array([columns[0], rows[0], columns[-1], rows[-1]]) if len(rows) else None


def furthest_label(root: ElementTree.Element, picture: bytes) -> tuple[float, str, int]:
    """Compare the edges of each label as drawn by resvg and as drawn by the browser.

    Only labels on the page's background are compared, because elsewhere, not all dark pixels belong to the label.

    Args:
        root: SVG of the figure.
        picture: PNG of the figure, with DENSITY pixels per CSS pixel.

    Returns:
        The largest distance in CSS pixels, the label with that distance, and the number of compared labels.
    """
    seen = np.asarray(Image.open(io.BytesIO(picture)).convert("L")) < 150
    independent = rendered(root, "white")[..., :3].mean(-1) < 150
    assert np.abs(np.subtract(seen.shape, independent.shape)).max() <= 4, (seen.shape, independent.shape)
    distances = []
    for text in root.iter(f"{SVG}text"):
        alone = ink(rendered(only(root, text))[..., 3] > 120)
        if alone is None:
            continue
        left, top, right, bottom = alone
        room = np.s_[max(0, top - 5) : bottom + 6, max(0, left - 5) : right + 6]
        theirs, ours = ink(independent[room]), ink(seen[room])
        # Skip labels that overlap other elements.
        offset = np.array([min(5, left), min(5, top)] * 2)
        if theirs is None or np.abs(theirs - offset - (alone - [left, top] * 2)).max() > 1:
            continue
        assert ours is not None, f"{''.join(text.itertext())} is elsewhere"
        label = "".join(text.itertext())
        apart = ours - theirs
        if MARK in label and "rotate(" in (text.get("transform") or ""):
            # Skip rotated labels that contain MARK: resvg's wider fallback font shifts them along the text.
            continue
        if MARK in label:
            # resvg sets the whole label in a wider fallback font that has a glyph for MARK. So compare anchors, not
            # edges.
            across = {"start": apart[0], "end": apart[2]}.get(text.get("text-anchor", "start"), apart[::2].mean())
            apart = np.array([across, apart[1::2].mean()])
        distances.append((np.abs(apart).max() / DENSITY, label))
    return *max(distances), len(distances)


def check_pdf(content: bytes, millimetres: float, *expected: str) -> PdfReader:
    """Check that a PDF has one page `millimetres` wide, embedded fonts and the expected searchable texts; return it."""
    pdf = PdfReader(io.BytesIO(content))
    (page,) = pdf.pages
    assert math.isclose(page.mediabox.width, millimetres * POINT, abs_tol=0.1)
    # Ignore spaces, because PDF readers infer them from the distances between text fragments.
    text = re.sub(r"\s", "", page.extract_text())
    for each in expected:
        assert re.sub(r"\s", "", each) in text, each
    fonts = page["/Resources"]["/Font"].values()
    assert fonts
    for font in fonts:
        descendant = font.get_object()["/DescendantFonts"][0].get_object()
        embedded = descendant["/FontDescriptor"].get_object()["/FontFile2"].get_object().get_data()
        assert 1_000 < len(embedded) < 250_000, "only the letters that are used are embedded"
    assert len(content) < 400_000
    return pdf
