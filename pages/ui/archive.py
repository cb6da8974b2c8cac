"""What the browser needs beside the kind that it draws, to write all three as one HTML file without the server.

The file needs neither a server nor a network. What it takes is sent last, when everything is drawn.
"""

from __future__ import annotations

import json
import re
import tomllib
import zlib
from pathlib import Path

import streamlit as st

from pages.ui.browser import SCRIPT, STYLE, browser_payload, script, sentence_id
from pages.ui.choice import FIRST
from pages.ui.sentence import Reading
from transformer.analysis.heads import head_metrics
from transformer.trace import KINDS, Kind, Trace

ROOT = Path(__file__).parents[2]
# Where the browser puts the data; assets/attention_browser/saving.js looks for the first one.
KEPT = "{{kept}}"
PAGE = """
body { margin: 24px; color: var(--st-text-color); background: var(--st-background-color);
  font-family: system-ui, sans-serif; }
"""
# Nothing may be fetched from anywhere.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src blob: data:"


def theme() -> str:
    """The app's colours, light and dark, under the names that Streamlit gives them in a page."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]

    def rules(colours: dict[str, str]) -> str:
        names = {name: re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", name) for name in colours}
        return ":root {" + " ".join(f"--st-{names[name]}: {colour};" for name, colour in colours.items()) + "}"

    dark = f"@media (prefers-color-scheme: dark) {{ {rules(settings['dark'])} }}"
    return f":root {{ color-scheme: light dark; }} {rules(settings['light'])} {dark}"


TEMPLATE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>Attention Atlas</title>
<style>{theme()}{PAGE}{STYLE}</style>
<h1></h1>
<p>Made with Attention Atlas. Rows look, columns are looked at, every row sums to 1. Press ? for the keys.</p>
<script id="kept" type="application/json">{KEPT}</script>
<script type="module">
{SCRIPT}
{script("document")}
</script>
</html>
"""
PACKED_TEMPLATE = zlib.compress(TEMPLATE.encode("utf-8"), level=9)

component = st.components.v2.component("archive", js=script("archive"))


def send_archive(reading: Reading, kind: Kind) -> None:
    """Send what is missing on the page of a kind; draws nothing."""
    data = archive_payload(reading.trace, kind, reading.translator.tokenizer.scores)
    component(key=f"{kind}_archive", data=data, height=1)


def archive_payload(trace: Trace, kind: Kind, scores: tuple[float, ...]) -> bytes:
    """A little-endian length, a JSON header of that many bytes, the compressed template, and the other two kinds.

    Args:
        trace: of a run.
        kind: that the browser has already.
        scores: of the vocabulary, for `head_metrics`.
    """
    others = [browser_payload(trace, head_metrics(trace, other, scores), FIRST) for other in KINDS if other != kind]
    parts = [PACKED_TEMPLATE, *others]
    head = json.dumps({"kind": kind, "id": sentence_id(trace), "sizes": [len(part) for part in parts]}).encode("ascii")
    return len(head).to_bytes(4, "little") + head + b"".join(parts)
