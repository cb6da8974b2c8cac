"""What the browser needs beside the kind that it draws, to write all of a model as one HTML file without the server.

The file needs neither a server nor a network. What it takes is sent last, when everything is drawn.
"""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Callable

from pages.ui.components.attention_browser import browser_message, sentence_id
from pages.ui.components.bundle import component, script, style
from pages.ui.components.wire import frame
from pages.ui.params.attention import AttentionParams
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.files.paths import APP
from transformer.values.trace import Kind, Trace

# Where the browser puts the data; assets/attention_browser/exports.js looks for the first one.
PLACEHOLDER = "{{content}}"
ENTRY = "attention_browser/html_export"
PAGE = """
body { margin: 24px; color: var(--st-text-color); background: var(--st-background-color);
  font-family: system-ui, sans-serif; }
"""
# Nothing may be fetched from anywhere.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src blob: data:"


def theme() -> str:
    """The app's colours, light and dark, under the names that Streamlit gives them in a page."""
    settings = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]

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
<style>{theme()}{PAGE}{style(ENTRY)}</style>
<h1></h1>
<p>Made with Attention Atlas. Rows look, columns are looked at, every row sums to 1. Press ? for the keys.</p>
<script id="content" type="application/json">{PLACEHOLDER}</script>
<script type="module">
{script(ENTRY)}
</script>
</html>
"""
PACKED_TEMPLATE = zlib.compress(TEMPLATE.encode("utf-8"), level=9)

send = component("attention_browser/html_export_parts")


def send_export_parts(trace: Trace, kind: Kind, metrics: Callable[[Kind], HeadMetrics]) -> None:
    """Send what is missing on the page of a kind; draws nothing. Arguments are those of `export_parts`."""
    send(key=f"{kind}_export", data=export_parts(trace, kind, metrics), height=1)


def export_parts(trace: Trace, kind: Kind, metrics: Callable[[Kind], HeadMetrics]) -> bytes:
    """A message of `pages.ui.components.wire`, whose body is the compressed template and the model's other kinds.

    Args:
        trace: of a run.
        kind: that the browser has already.
        metrics: of the heads of another kind.
    """
    others = [
        browser_message(trace, metrics(other), AttentionParams()) for other in trace.kinds if other != kind
    ]
    parts = [PACKED_TEMPLATE, *others]
    return frame({"kind": kind, "id": sentence_id(trace), "sizes": [len(part) for part in parts]}, b"".join(parts))
