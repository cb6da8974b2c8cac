"""Saves a figure through its menu, and reads its files with other programs."""

from __future__ import annotations

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
# Elements that a saved drawing may have. None of them runs code or fetches anything.
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
# Points per millimetre.
POINT = 72 / 25.4
DENSITY = 2
# The mark for a space, for which Source Sans has no glyph.
MARK = "␣"


def save(figure: Locator, name: str, *, width: str = "as on the screen", **chosen: bool) -> bytes:
    """Return the file that a figure's menu saves.

    Args:
        figure: the element with the menu.
        name: name of the format.
        width: width as the menu words it.
        chosen: whether each box is ticked: caption, transparent, light.
    """
    # The last menu is the figure's own; an inner figure's menu comes before it.
    menu = figure.locator(".save").last
    menu.locator("summary").click()
    menu.get_by_label("Width").select_option(label=width)
    for label in ("Caption", "Transparent", "Light colours"):
        box = menu.get_by_label(label, exact=True)
        box.set_checked(chosen.get(label.split()[0].lower(), label == "Caption"))
    with figure.page.expect_download() as download:
        menu.get_by_role("button", name=name, exact=True).click()
    # The menu reports the save once the page has its old layout, and stays open for the next format.
    menu.get_by_text(f"{name} saved.").wait_for()
    # The open menu may cover the next figure's menu.
    menu.locator("summary").press("Escape")
    return Path(download.value.path()).read_bytes()


def drawing(figure: Locator, **options: object) -> ElementTree.Element:
    """Return a figure's SVG, which holds only drawing elements."""
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
    """Render a drawing with resvg, which shares no code with the browser: RGBA, DENSITY pixels per CSS pixel."""
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
    """Return a copy of the drawing with only one of its texts."""

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
    """Return left, top, right and bottom of the dark pixels, bool [height, width]; None if there are none."""
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    return np.array([columns[0], rows[0], columns[-1], rows[-1]]) if len(rows) else None


def furthest_label(root: ElementTree.Element, picture: bytes) -> tuple[float, str, int]:
    """Return the largest distance, in CSS pixels, between a label's edge in resvg and in the browser's own picture.

    Compares upright labels on the page's background; elsewhere, not all dark pixels belong to the label.

    Args:
        root: the drawing.
        picture: the PNG with DENSITY pixels a CSS pixel.

    Returns:
        The largest distance, the label that has it, and the number of compared labels.
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
        # Skips labels that overlap other elements of the drawing.
        offset = np.array([min(5, left), min(5, top)] * 2)
        if theirs is None or np.abs(theirs - offset - (alone - [left, top] * 2)).max() > 1:
            continue
        assert ours is not None, f"{''.join(text.itertext())} is elsewhere"
        label = "".join(text.itertext())
        apart = ours - theirs
        if MARK in label and "rotate(" in (text.get("transform") or ""):
            # A slanted label in a wider font moves along its own direction.
            continue
        if MARK in label:
            # resvg takes all letters of such a label from the wider font that has the mark, so the label's anchor is
            # its place.
            across = {"start": apart[0], "end": apart[2]}.get(text.get("text-anchor", "start"), apart[::2].mean())
            apart = np.array([across, apart[1::2].mean()])
        distances.append((np.abs(apart).max() / DENSITY, label))
    return *max(distances), len(distances)


def check_pdf(content: bytes, millimetres: float, *expected: str) -> PdfReader:
    """Check that the PDF has one page of this width, searchable text and embedded fonts."""
    pdf = PdfReader(io.BytesIO(content))
    (page,) = pdf.pages
    assert math.isclose(page.mediabox.width, millimetres * POINT, abs_tol=0.1)
    # The distance between a text's parts decides where a PDF reader sees spaces.
    text = re.sub(r"\s", "", page.extract_text())
    for each in expected:
        assert re.sub(r"\s", "", each) in text, each
    fonts = page["/Resources"]["/Font"].values()
    assert fonts
    for font in fonts:
        descendant = font.get_object()["/DescendantFonts"][0].get_object()
        embedded = descendant["/FontDescriptor"].get_object()["/FontFile2"].get_object().get_data()
        assert 1_000 < len(embedded) < 250_000, "some letters of it, not all"
    assert len(content) < 400_000
    return pdf
