"""Figure export, mounted once per page; the PDF writer is sent on first use.

The server receives no pictures, because the browser makes PDFs too. The PDF libraries and fonts are larger than a page,
so they are sent only when they are needed.
"""

from __future__ import annotations

import tomllib
import zlib
from functools import cache

import streamlit as st

from attention_atlas.browser.wire import frame
from pages.ui.components.bundle import component
from transformer.files.paths import APP, ASSETS

# Files in assets/fonts, each with its font name and font weight in a PDF.
FONTS = {
    "SourceSans3-Regular.ttf": ("Source Sans 3", "400"),
    "SourceSans3-Semibold.ttf": ("Source Sans 3", "600"),
    "DejaVuSans.ttf": ("DejaVu Sans", "400"),
}
# Colours of the grid lines that Streamlit draws behind a chart, in the dark and the light theme.
GRID = ("#31333f", "#e6eaf1")
WANTED = "_pdf_wanted"

draw_exporter = component("figures/exporter")
draw_pdf_writer = component("figures/pdf_writer")


@st.fragment
def exporter() -> None:
    """Mount the invisible component that lets the user save every figure of the page."""

    def want() -> None:
        st.session_state[WANTED] = True

    with st.container(key="exporter"):
        draw_exporter(key="figure_exporter", data={"colours": colours()}, on_pdf_change=want)
        if st.session_state.get(WANTED):
            draw_pdf_writer(key="pdf_writer", data=fonts())


@cache
def colours() -> list[tuple[str, str]]:
    """Return pairs of each colour of the dark theme and its counterpart in the light theme."""
    themes = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    pairs: list[tuple[str, str]] = [GRID]
    for name, dark in themes["dark"].items():
        # Charts do not take these colours from the theme: they use one primary colour in both themes, and contain no
        # code.
        if name in ("primaryColor", "codeTextColor"):
            continue
        light = themes["light"][name]
        pairs += zip(dark, light, strict=True) if isinstance(dark, list) else [(dark, light)]
    return pairs


@cache
def fonts() -> bytes:
    """Return the compressed fonts, with their names and sizes, as a message of `attention_atlas.browser.wire`."""
    files = {name: (ASSETS / "fonts" / name).read_bytes() for name in FONTS}
    listed = [
        {"family": family, "weight": weight, "size": len(files[name])} for name, (family, weight) in FONTS.items()
    ]
    return frame({"fonts": listed}, zlib.compress(b"".join(files.values()), level=9))
