"""The opening screen, part of Streamlit's HTML document, which is shown until the first page is drawn."""

from __future__ import annotations

from base64 import b64encode
from string import Template

from pages.ui.server.warm_up import seconds_left
from transformer.files.paths import ASSETS

FOLDER = ASSETS / "opening"
HEAD = (FOLDER / "head.html").read_text(encoding="utf-8")
BODY = Template((FOLDER / "body.html").read_text(encoding="utf-8"))
# A data URI, because Streamlit would give a picture file a new address in every run.
ICON = "data:image/png;base64," + b64encode((ASSETS / "images" / "icon.png").read_bytes()).decode("ascii")
TITLE = "Attention Atlas"
# Script that removes the opening screen when a page begins to draw.
PAGE_IS_THERE = "<script>document.getElementById('opening')?.remove()</script>"


def arranged(document: bytes) -> bytes:
    """Return Streamlit's document with the app's name, its icon and the opening screen."""
    seconds, text = seconds_left(), document.decode("utf-8")
    line = f"Starting the Transformer … about {seconds} s" if seconds else "Opening the page …"
    for old, new in (
        ("<head>", f"<head>{HEAD}"),
        ("<title>Streamlit</title>", f"<title>{TITLE}</title>"),
        ('href="./favicon.png"', f'href="{ICON}"'),
        ("<body>", "<body>" + BODY.substitute(seconds=seconds, line=line)),
    ):
        text = text.replace(old, new, 1)
    return text.encode("utf-8")
