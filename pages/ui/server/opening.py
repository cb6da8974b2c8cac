"""Adds an opening screen, visible until the first page appears, to Streamlit's HTML document."""

from base64 import b64encode
from string import Template

from pages.ui.server.warm_up import seconds_left
from transformer.files.paths import ASSETS

FOLDER = ASSETS / "opening"
HEAD = (FOLDER / "head.html").read_text(encoding="utf-8")
BODY = Template((FOLDER / "body.html").read_text(encoding="utf-8"))
# A data URI, because Streamlit would give an image file a new URL in every script run.
ICON = "data:image/png;base64," + b64encode((ASSETS / "images" / "icon.png").read_bytes()).decode("ascii")
TITLE = "Attention Atlas"
# Removes the opening screen when the first page appears.
REMOVAL_SCRIPT = "<script>document.getElementById('opening')?.remove()</script>"


def arrange_document(document: bytes) -> bytes:
    """Return Streamlit's HTML document with the app's name, icon and opening screen."""
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
