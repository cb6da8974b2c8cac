"""What saves the figures of a page, once a page; what makes a PDF is sent when the first one is wanted.

No picture comes to the server: the browser makes PDFs too. The libraries and fonts for it are larger than a page.
"""

from __future__ import annotations

import tomllib
import zlib
from functools import cache

import streamlit as st

from attention_atlas.browser.wire import frame
from pages.ui.components.bundle import component
from transformer.files.paths import APP, ASSETS

# Files in assets/fonts with the name and the weight that a PDF knows each by.
FONTS = {
    "SourceSans3-Regular.ttf": ("Source Sans 3", "400"), "SourceSans3-Semibold.ttf": ("Source Sans 3", "600"),
    "DejaVuSans.ttf": ("DejaVu Sans", "400"),
}
# Streamlit's own lines behind a chart, in the dark theme and in the light one.
GRID = ("#31333f", "#e6eaf1")
WANTED = "_pdf_wanted"

draw_exporter = component("figures/exporter")
draw_pdf_writer = component("figures/pdf_writer")


@st.fragment
def exporter() -> None:
    """Draw nothing, but let every figure of the page be saved."""

    def want() -> None:
        st.session_state[WANTED] = True

    with st.container(key="exporter"):
        draw_exporter(key="figure_exporter", data={"colours": colours()}, on_pdf_change=want)
        if st.session_state.get(WANTED):
            draw_pdf_writer(key="pdf_writer", data=fonts())


@cache
def colours() -> list[tuple[str, str]]:
    """Each colour of the dark theme, and what it is in the light one."""
    themes = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    pairs: list[tuple[str, str]] = [GRID]
    for name, dark in themes["dark"].items():
        # No chart takes them from the theme; ours use one of the two primary colours in both, and hold no code.
        if name in ("primaryColor", "codeTextColor"):
            continue
        light = themes["light"][name]
        pairs += zip(dark, light, strict=True) if isinstance(dark, list) else [(dark, light)]
    return pairs


@cache
def fonts() -> bytes:
    """A message of `attention_atlas.browser.wire`: names and sizes of the fonts, and all of them, compressed."""
    files = {name: (ASSETS / "fonts" / name).read_bytes() for name in FONTS}
    listed = [
        {"family": family, "weight": weight, "size": len(files[name])} for name, (family, weight) in FONTS.items()
    ]
    return frame({"fonts": listed}, zlib.compress(b"".join(files.values()), level=9))
