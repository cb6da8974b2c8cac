"""A figure as saved: its menu, and what other programs make of its files."""

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
# Of what a saved drawing consists; nothing of it runs, and nothing is fetched.
ELEMENTS = {
    "svg", "desc", "g", "path", "rect", "line", "circle", "polyline", "polygon", "text", "tspan", "image", "defs",
    "clipPath", "linearGradient", "stop", "marker",
}
# Points in a millimetre.
POINT = 72 / 25.4
DENSITY = 2
# Of a space; Source Sans lacks it.
MARK = "␣"


def save(figure: Locator, name: str, *, width: str = "as on the screen", **chosen: bool) -> bytes:
    """The file that a figure's menu saves.

    Args:
        figure: holds the menu.
        name: of the format.
        width: as the menu says it.
        chosen: whether a box is ticked: caption, transparent, light.
    """
    # Its own comes after that of a figure within it.
    menu = figure.locator(".save").last
    menu.locator("summary").click()
    menu.get_by_label("Width").select_option(label=width)
    for label in ("Caption", "Transparent", "Light colours"):
        box = menu.get_by_label(label, exact=True)
        box.set_checked(chosen.get(label.split()[0].lower(), label == "Caption"))
    with figure.page.expect_download() as download:
        menu.get_by_role("button", name=name, exact=True).click()
    # It says so when the page is laid out as before, and stays for the next format.
    menu.get_by_text(f"{name} saved.").wait_for()
    # It may lie over the next figure's.
    menu.locator("summary").press("Escape")
    return Path(download.value.path()).read_bytes()


def drawing(figure: Locator, **options: object) -> ElementTree.Element:
    """The SVG of a figure, which holds nothing but a drawing."""
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
    """What resvg, which shares nothing with the browser, makes of a drawing: RGBA, DENSITY pixels a CSS pixel."""
    size = root.get("viewBox").split()[2:]
    in_pixels = ElementTree.Element(root.tag, {**root.attrib, **dict(zip(("width", "height"), size, strict=True))})
    in_pixels.extend(root)
    picture = resvg_py.svg_to_bytes(
        svg_string=ElementTree.tostring(in_pixels, encoding="unicode"), font_files=FONTS, skip_system_fonts=True,
        zoom=DENSITY, background=background,
    )
    return np.asarray(Image.open(io.BytesIO(bytes(picture))).convert("RGBA"))


def only(root: ElementTree.Element, kept: ElementTree.Element) -> ElementTree.Element:
    """The drawing with one of its texts and nothing else."""

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
    """Left, top, right and bottom of what is dark, bool [height, width]; None where nothing is."""
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    return np.array([columns[0], rows[0], columns[-1], rows[-1]]) if len(rows) else None


def furthest_label(root: ElementTree.Element, picture: bytes) -> tuple[float, str, int]:
    """How far, in CSS pixels, a label's edge is in resvg from where it is in the browser's own picture, at most.

    Labels that stand upright on the page's background are compared, as elsewhere ink is not theirs alone.

    Args:
        root: the drawing.
        picture: the PNG with DENSITY pixels a CSS pixel.

    Returns:
        The largest distance, whose it is, and the number of labels that were compared.
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
        # Alone in its place: nothing but the label itself is there.
        offset = np.array([min(5, left), min(5, top)] * 2)
        if theirs is None or np.abs(theirs - offset - (alone - [left, top] * 2)).max() > 1:
            continue
        assert ours is not None, f"{''.join(text.itertext())} is elsewhere"
        label = "".join(text.itertext())
        apart = ours - theirs
        if MARK in label and "rotate(" in (text.get("transform") or ""):
            # The wider font of such a label moves it along itself.
            continue
        if MARK in label:
            # resvg takes all letters of such a label from the wider font that has the mark: its place is its anchor.
            across = {"start": apart[0], "end": apart[2]}.get(text.get("text-anchor", "start"), apart[::2].mean())
            apart = np.array([across, apart[1::2].mean()])
        distances.append((np.abs(apart).max() / DENSITY, label))
    return *max(distances), len(distances)


def check_pdf(content: bytes, millimetres: float, *expected: str) -> PdfReader:
    """One page of a width, whose text can be found and whose fonts are in it."""
    pdf = PdfReader(io.BytesIO(content))
    (page,) = pdf.pages
    assert math.isclose(page.mediabox.width, millimetres * POINT, abs_tol=0.1)
    # How far apart its parts stand decides which spaces a reader of PDF sees.
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
