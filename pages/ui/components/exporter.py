"""Figure export, mounted once per page; the PDF writer is loaded on first use.

Images never reach the server, because even PDFs are made in the browser. The PDF libraries and fonts are larger than a
whole page, so they are only sent when needed.
"""

from __future__ import annotations

import tomllib
import zlib
from functools import cache

import streamlit as st

from attention_atlas.browser.wire import frame
from pages.ui.components.bundle import component
from transformer.files.paths import APP, ASSETS

# Files in assets/fonts, with font family and weight in a PDF.
FONTS = {
    "SourceSans3-Regular.ttf": ("Source Sans 3", "400"),
    "SourceSans3-Semibold.ttf": ("Source Sans 3", "600"),
    "DejaVuSans.ttf": ("DejaVu Sans", "400"),
}
# Colours of Streamlit's grid lines behind a chart, in the dark and in the light theme.
GRID = ("#31333f", "#e6eaf1")
PDF_REQUESTED = "_pdf_wanted"

draw_exporter = component("figures/exporter")
draw_pdf_writer = component("figures/pdf_writer")


@st.fragment
def exporter() -> None:
    """Mount the invisible component that saves the page's figures."""

    def want() -> None:
        st.session_state[PDF_REQUESTED] = True

    with st.container(key="exporter"):
        draw_exporter(key="figure_exporter", data={"colours": colours()}, on_pdf_change=want)
        if st.session_state.get(PDF_REQUESTED):
            draw_pdf_writer(key="pdf_writer", data=fonts())


@cache
def colours() -> list[tuple[str, str]]:
    """Return (dark, light) pairs of corresponding theme colours."""
    themes = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    pairs: list[tuple[str, str]] = [GRID]
    for name, dark in themes["dark"].items():
        # Charts do not use these theme colours: the primary colour is the same in both themes, and charts contain no
        # code.
        if name in ("primaryColor", "codeTextColor"):
            continue
        light = themes["light"][name]
        pairs += zip(dark, light, strict=True) if isinstance(dark, list) else [(dark, light)]
    return pairs


@cache
def fonts() -> bytes:
    """Return the compressed fonts as a message of `attention_atlas.browser.wire`, with a header of font names and
    sizes.
    """
    files = {name: (ASSETS / "fonts" / name).read_bytes() for name in FONTS}
    listed = [
        {"family": family, "weight": weight, "size": len(files[name])} for name, (family, weight) in FONTS.items()
    ]
    return frame({"fonts": listed}, zlib.compress(b"".join(files.values()), level=9))
