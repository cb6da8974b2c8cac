"""Figure export, mounted once per page; the PDF writer is sent on first use.

The server receives no picture: the browser also makes PDFs. The libraries and fonts for PDFs are larger than a page.
"""

from __future__ import annotations

import tomllib
import zlib
from functools import cache

import streamlit as st

from attention_atlas.browser.wire import frame
from pages.ui.components.bundle import component
from transformer.files.paths import APP, ASSETS

# Files in assets/fonts with the name and the weight that a PDF uses for each.
FONTS = {
    "SourceSans3-Regular.ttf": ("Source Sans 3", "400"),
    "SourceSans3-Semibold.ttf": ("Source Sans 3", "600"),
    "DejaVuSans.ttf": ("DejaVu Sans", "400"),
}
# Colours of Streamlit's own lines behind a chart, in the dark theme and in the light one.
GRID = ("#31333f", "#e6eaf1")
WANTED = "_pdf_wanted"

draw_exporter = component("figures/exporter")
draw_pdf_writer = component("figures/pdf_writer")


@st.fragment
def exporter() -> None:
    """Draw nothing, but let the user save every figure of the page."""

    def want() -> None:
        st.session_state[WANTED] = True

    with st.container(key="exporter"):
        draw_exporter(key="figure_exporter", data={"colours": colours()}, on_pdf_change=want)
        if st.session_state.get(WANTED):
            draw_pdf_writer(key="pdf_writer", data=fonts())


@cache
def colours() -> list[tuple[str, str]]:
    """Return each colour of the dark theme, and the matching one of the light theme."""
    themes = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    pairs: list[tuple[str, str]] = [GRID]
    for name, dark in themes["dark"].items():
        # Charts do not take these from the theme: ours use one of the two primary colours in both themes, and hold no
        # code.
        if name in ("primaryColor", "codeTextColor"):
            continue
        light = themes["light"][name]
        pairs += zip(dark, light, strict=True) if isinstance(dark, list) else [(dark, light)]
    return pairs


@cache
def fonts() -> bytes:
    """Return a message of `attention_atlas.browser.wire`: names and sizes of the fonts, and all of them, compressed."""
    files = {name: (ASSETS / "fonts" / name).read_bytes() for name in FONTS}
    listed = [
        {"family": family, "weight": weight, "size": len(files[name])} for name, (family, weight) in FONTS.items()
    ]
    return frame({"fonts": listed}, zlib.compress(b"".join(files.values()), level=9))
