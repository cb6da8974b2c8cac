"""Joins a component's ES modules from assets/ into one script, which a browser fetches or a document embeds.

If browsers imported the modules one by one, the first page would fetch 52 files instead of 7, and appear half a second
later. Joined modules share one scope, so each name must be defined only once and imported without renaming;
tests/javascript checks this. `style` joins the style sheets, which are named after their modules.
"""

import json
import re
import tomllib
from functools import cache
from pathlib import Path

from transformer.files.paths import ASSETS

IMPORT = re.compile(r'^import (?:[^"]+ from )?"([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?!default )", re.MULTILINE)
DEFAULT = re.compile(r"^export default .*\n", re.MULTILINE)
COMMENT = re.compile(r"^ *(?:/\*(?:[^*]|\*(?!/))*\*/|//.*)\n", re.MULTILINE)
# assets/shared/glossary.js contains this placeholder for the glossary's explanations.
GLOSSARY_PLACEHOLDER = "GLOSSARY = {};"


def script(entry: str) -> str:
    """Return an entry module and all its imports as one module, with only the entry module's default export."""
    *imported, last = modules(entry)
    joined = "\n".join([*(DEFAULT.sub("", _strip(module)) for module in imported), _strip(last)])
    if GLOSSARY_PLACEHOLDER not in joined:
        return joined
    explained = {word: text for word, text in explanations().items() if f'"{word}"' in joined}
    return joined.replace(GLOSSARY_PLACEHOLDER, f"GLOSSARY = {json.dumps(explained)};")


def style(entry: str) -> str:
    """Return the style sheets of an entry module and all its imports as one style sheet."""
    sheets = [module.with_suffix(".css") for module in modules(entry)]
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets if sheet.exists())


@cache
def modules(entry: str) -> tuple[Path, ...]:
    """Return an entry module and all its imports in the order in which JavaScript runs them: imports first."""
    ordered: dict[Path, None] = {}

    def visit(module: Path) -> None:
        if module not in ordered:
            for path in IMPORT.findall(_source(module)):
                visit((module.parent / path).resolve())
            ordered[module] = None

    visit((ASSETS / f"{entry}.js").resolve())
    return tuple(ordered)


@cache
def _source(module: Path) -> str:
    return module.read_text(encoding="utf-8")


@cache
def _strip(module: Path) -> str:
    """Return a module's source without imports, `export` keywords and comments. Third-party code stays unchanged."""
    source = _source(module)
    return source if module.parent.name == "vendor" else COMMENT.sub("", EXPORT.sub("", IMPORT.sub("", source)))


@cache
def explanations() -> dict[str, str]:
    """Return the explanations in assets/glossary.toml, by word; synonyms have an entry too."""
    groups = tomllib.loads((ASSETS / "glossary.toml").read_text(encoding="utf-8"))["group"]
    terms = [term for group in groups for term in group["term"]]
    return {word: term["text"] for term in terms for word in (term["name"], *term.get("also", ()))}
