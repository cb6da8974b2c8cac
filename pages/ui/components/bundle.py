"""Registers JavaScript components with Streamlit so that the browser fetches their scripts as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.components import v2

from attention_atlas.browser.scripts import script, style
from pages.ui.server.document import keep_script

# Streamlit sends this stub in every message of a component; it imports the script from its file.
FETCHED = """
const script = await import(new URL("{path}", new URL(".", location.href)));
export default script.default;
"""


def component(entry: str) -> Any:
    """Register a component with Streamlit; return the function that draws it.

    Args:
        entry: the path of the component's module in assets/, without ".js"; its default export is the component.
    """
    name = Path(entry).name
    return v2.component(name, js=FETCHED.format(path=keep_script(name, script(entry))), css=style(entry) or None)
