"""All attention of one sentence as a single HTML file that needs neither a server nor a network."""

from __future__ import annotations

import base64
import html
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pages.ui.browser import SCRIPT, STYLE, TITLES, browser_payload
from pages.ui.choice import Choice
from transformer.analysis.heads import HeadMetrics, head_metrics
from transformer.trace import KINDS, Trace

ROOT = Path(__file__).parents[2]
PAGE = """
body { margin: 24px; color: var(--st-text-color); background: var(--st-background-color);
  font-family: system-ui, sans-serif; }
"""
START = """
for (const section of document.querySelectorAll("section")) {
  const text = section.querySelector("script").textContent;
  const data = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  attentionBrowser({ data, parentElement: section, setStateValue() {}, setTriggerValue() {} });
}
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


def document(trace: Trace, choice: Choice, scores: Sequence[float]) -> str:
    """The file.

    Args:
        trace: of a run.
        choice: what it shows first.
        scores: of the vocabulary, for `head_metrics`.
    """
    title = html.escape(f"{trace.source_text} → {trace.target_text}")
    sections = "\n".join(_section(trace, head_metrics(trace, kind, scores), choice) for kind in KINDS)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>{theme()}{PAGE}{STYLE}</style>
<h1>{title}</h1>
<p>Made with Attention Atlas. Rows look, columns are looked at, every row sums to 1. Press ? for the keys.</p>
{sections}
<script type="module">
{SCRIPT}
{START}
</script>
</html>
"""


def _section(trace: Trace, metrics: HeadMetrics, choice: Choice) -> str:
    data = base64.b64encode(browser_payload(trace, metrics, choice)).decode("ascii")
    kept = f'<script type="application/octet-stream;base64">{data}</script>'
    return f"<section><h2>{TITLES[metrics.kind]}</h2>{kept}</section>"
