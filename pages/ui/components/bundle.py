"""JavaScript components, registered with Streamlit: the browser fetches their scripts as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.components import v2

from attention_atlas.browser.scripts import script, style
from pages.ui.server.served import keep_script

# Streamlit sends this within every message of a component; it says where the script is.
FETCHED = """
const script = await import(new URL("{path}", new URL(".", location.href)));
export default script.default;
"""


def component(entry: str) -> Any:
    """Register a component with Streamlit; return the function that draws it.

    Args:
        entry: its module in assets/, without ".js"; exports the component by default.
    """
    name = Path(entry).name
    return v2.component(name, js=FETCHED.format(path=keep_script(name, script(entry))), css=style(entry) or None)
