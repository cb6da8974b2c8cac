"""The attention browser as one HTML file that needs neither a server nor a network."""

import json
import re
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from attention_atlas.browser.scripts import script, style
from attention_atlas.browser.wire import unframe
from transformer.files.paths import APP
from transformer.values.kinds import Kind

# Placeholder for the data; assets/attention_browser/exports.js searches for its first occurrence.
PLACEHOLDER = "{{content}}"
ENTRY = "attention_browser/html_export"
PAGE = """
body { margin: 24px; color: var(--st-text-color); background: var(--st-background-color);
  font-family: system-ui, sans-serif; line-height: 1.4; }
h1 { font-size: 24px; margin: 0; }
body > details { margin-top: 8px; }
body > details > summary { height: auto; padding: 0; border: 0; background: none; }
"""
# Content security policy: the document must not fetch anything.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src blob: data:"


def theme(root: str = ":root", *, dark: str = "") -> str:
    """Return CSS rules with the app's light and dark colours, as the custom properties that Streamlit sets on a page.

    Args:
        root: CSS selector of the element that defines the colours.
        dark: CSS selector of that element in the dark theme; empty to follow the user's system.
    """
    settings = tomllib.loads((APP / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]

    def rules(colours: dict[str, str], of: str = root) -> str:
        names = {name: re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", name) for name in colours}
        return f"{of} {{" + " ".join(f"--st-{names[name]}: {colour};" for name, colour in colours.items()) + "}"

    if dark:
        scheme = f"{root} {{ color-scheme: light; }} {dark} {{ color-scheme: dark; }}"
        return f"{scheme} {rules(settings['light'])} {rules(settings['dark'], dark)}"
    dark = f"@media (prefers-color-scheme: dark) {{ {rules(settings['dark'])} }}"
    return f"{root} {{ color-scheme: light dark; }} {rules(settings['light'])} {dark}"


def template(entry: str, body: str) -> str:
    """Return an HTML document with a placeholder that `fill` replaces with the data.

    Args:
        entry: module in assets/, without ".js", that draws the content; it runs after all other modules.
        body: HTML above the content that the script draws.
    """
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>Attention Atlas</title>
<style>{theme()}{PAGE}{style(entry)}</style>
{body}
<script id="content" type="application/json">{PLACEHOLDER}</script>
<script type="module">
{script(entry)}
</script>
</html>
"""


def fill(document: str, content: Mapping[str, Any]) -> str:
    """Insert the data into a document as JSON, with "<" escaped, because a text may contain a script end tag."""
    return document.replace(PLACEHOLDER, json.dumps(content).replace("<", "\\u003c"), 1)


TEMPLATE = template(
    ENTRY,
    """<h1></h1>
<details><summary>The whole text</summary><p></p></details>
<p>Made with Attention Atlas. Each row attends to the columns and sums to 1. Press ? for the keyboard shortcuts.</p>""",
)


def document(messages: Mapping[Kind, bytes], *, kind: Kind, title: str = "") -> str:
    """Return an HTML document that shows the attention maps of one or more attention kinds.

    Args:
        messages: messages from `browser_payload`, by attention kind.
        kind: attention kind to show first.
        title: title of the document; if empty, the beginning of the text.
    """
    headers = {each: unframe(message)[0] for each, message in messages.items()}
    content = {
        "kind": kind,
        "texts": headers[kind]["shown"],
        "title": title,
        "kinds": [
            {"kind": each, "title": headers[each]["title"], "data": b64encode(message).decode("ascii")}
            for each, message in messages.items()
        ],
    }
    return fill(TEMPLATE, content)
