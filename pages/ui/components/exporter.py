"""Saves figures as images and PDFs. A page mounts one exporter; the PDF writer is loaded on first use.

The browser makes all files, including PDFs, and never sends an image to the server. The PDF libraries and fonts are
larger than a whole page, so they are sent only when needed.
"""

import tomllib
import zlib
from functools import cache

import streamlit as st

from attention_atlas.browser.wire import frame
from pages.ui.components.bundle import component
from transformer.files.paths import APP, ASSETS

# The font family and weight of each file in assets/fonts, for PDFs.
FONTS = {
    "SourceSans3-Regular.ttf": ("Source Sans 3", "400"),
    "SourceSans3-Semibold.ttf": ("Source Sans 3", "600"),
    "DejaVuSans.ttf": ("DejaVu Sans", "400"),
}
# Colours of Streamlit's grid lines in charts, in the dark and in the light theme.
GRID = ("#31333f", "#e6eaf1")
PDF_REQUESTED = "_pdf_wanted"

draw_exporter = component("figures/exporter")
draw_pdf_writer = component("figures/pdf_writer")


@st.fragment
def exporter() -> None:
    """Mount an invisible component that saves the page's figures."""

    def want() -> None:
        st.session_state[PDF_REQUESTED] = True

    with st.container(key="exporter"):
        draw_exporter(key="figure_exporter", data={"colours": colours()}, on_pdf_change=want)
        if st.session_state.get(PDF_REQUESTED):
            draw_pdf_writer(key="pdf_writer", data=fonts())


@cache
def colours() -> list[tuple[str, str]]:
    """Return pairs of corresponding colours in the dark and the light theme."""
    themes = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    pairs: list[tuple[str, str]] = [GRID]
    for name, dark in themes["dark"].items():
        # Skip the primary colour, which is the same in both themes, and the code colour, which no chart uses.
        if name in ("primaryColor", "codeTextColor"):
            continue
        light = themes["light"][name]
        pairs += zip(dark, light, strict=True) if isinstance(dark, list) else [(dark, light)]
    return pairs


@cache
def fonts() -> bytes:
    """Return a message in the format of `attention_atlas.browser.wire` with the compressed fonts, and their families,
    weights and sizes.
    """
    files = {name: (ASSETS / "fonts" / name).read_bytes() for name in FONTS}
    listed = [
        {"family": family, "weight": weight, "size": len(files[name])} for name, (family, weight) in FONTS.items()
    ]
    return frame({"fonts": listed}, zlib.compress(b"".join(files.values()), level=9))
