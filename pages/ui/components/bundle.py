"""A component's files, joined.

assets/bundles.json says which files make which component. Its scripts are joined into one module and share its scope,
so the app needs neither a bundler nor a network.
"""

from __future__ import annotations

import json
from typing import Any

from streamlit.components import v2

from pages.ui.server.served import keep_script
from pages.ui.text.glossary import explain
from transformer.files.paths import ASSETS

BUNDLES = json.loads((ASSETS / "bundles.json").read_text(encoding="utf-8"))
# What Streamlit sends within every message of a component: where its script is.
FETCHED = """
const script = await import(new URL("{path}", new URL(".", location.href)));
export default script.default;
"""


def component(name: str) -> Any:
    """Register a component with Streamlit under the name of its bundle; returns what draws it."""
    return v2.component(name, js=FETCHED.format(path=keep_script(name, script(name))), css=style(name) or None)


def script(name: str) -> str:
    """The scripts of a bundle as one JavaScript module, which exports the bundle's component if it has one.

    Libraries of others come first; they leave what they offer on the global object.
    """
    bundle = BUNDLES[name]
    joined = _glossary(name) + _joined([*bundle.get("libraries", []), *scripts(name)], "js")
    return joined + f"\nexport default mount({bundle['component']});\n" if "component" in bundle else joined


def scripts(name: str) -> list[str]:
    """The files of a bundle, without ".js"; one that stands without a folder is a bundle, and gives its files."""
    return [
        file for entry in BUNDLES[name]["scripts"] for file in ([entry] if "/" in entry else scripts(entry))
    ]


def words(name: str) -> list[str]:
    """The technical words that a bundle explains, those of the bundles within it among them."""
    bundle = BUNDLES[name]
    within = [word for entry in bundle["scripts"] if "/" not in entry for word in words(entry)]
    return [*bundle.get("words", []), *within]


def _glossary(name: str) -> str:
    found = {word: explain(word) for word in words(name)}
    return f"const GLOSSARY = {json.dumps(found)};\n" if found else ""


def style(name: str) -> str:
    """The style sheets of a bundle as one."""
    return _joined(BUNDLES[name]["styles"], "css")


def _joined(names: list[str], suffix: str) -> str:
    return "\n".join((ASSETS / f"{name}.{suffix}").read_text(encoding="utf-8") for name in names)
