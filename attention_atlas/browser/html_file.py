"""The attention browser as one HTML file that needs neither a server nor a network."""

from __future__ import annotations

import re
import tomllib

from attention_atlas.browser.scripts import script, style
from transformer.files.paths import APP

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
