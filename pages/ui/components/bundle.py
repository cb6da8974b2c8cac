"""Registers JavaScript components with Streamlit so that browsers load each script as a separate file."""

from pathlib import Path
from typing import Any

from streamlit.components import v2

from attention_atlas.browser.scripts import script, style
from pages.ui.server.document import keep_script

# Streamlit sends this stub with every message to a component. The stub imports the actual script, which browsers cache.
LOADER_SCRIPT = """
const script = await import(new URL("{path}", new URL(".", location.href)));
export default script.default;
"""


def component(entry: str) -> Any:
    """Register a JavaScript component, and return the function that renders it.

    Args:
        entry: path of the component's module in assets/, without ".js"; the module's default export is the component.
    """
    name = Path(entry).name
    return v2.component(name, js=LOADER_SCRIPT.format(path=keep_script(name, script(entry))), css=style(entry) or None)
