"""Linter for the project's English: docstrings, comments, documents and test names.

CONTRIBUTING.md has the rules. `LIMITS` has the number of findings per package; a number may only fall.
`python -m tests.unit.test_prose` prints the current numbers.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.ui.params.pages import PAGES

ROOT = Path(__file__).parents[2]
# Begins a comment in a planted example, so that the linter does not read the example as a comment of this file.
HASH = "#"
LONGEST = 25
# Words with a meaning that only this project gave them, and the usual word.
WORDS = {
    r"(?<!lecture )halls?": "lecture mode, or lecture hall", r"mend(s|ed|ing)?": "fix", r"rubbish": "invalid",
    r"told(?! apart| from)": "reported", r"visitors?": "user", r"strangers?": "user", r"whoever": "user",
    r"somebody": "user", r"hostile": "untrusted", r"besides": "also", r"thereby": "so", r"e\.g\.": "for example",
    r"i\.e\.": "that is",
}
PRIVATE = re.compile("|".join(rf"\b(?P<w{at}>{word})(?!\w)" for at, word in enumerate(WORDS)), re.IGNORECASE)
USUAL = {f"w{at}": usual for at, usual in enumerate(WORDS.values())}
HEADLESS = re.compile(r"(What|Which|Who|Whose|Whom|Whatever|Whoever|Of)\b(?!.*\?)")
HEADLESS_MODULE = re.compile(r"(What|Which|Who|Whose|Whom|Whatever|Whoever|Of|Where|How|When)\b(?!.*\?)")
HEADLESS_NAME = re.compile(r"test_(what|which|who|whose|whom|whoever|whatever|of)_|_what_is_")
# Marks that a comment may begin with, for a tool.
FOR_TOOLS = re.compile(r"(noqa|type:|pyright:|ruff:|fmt:|@ts-|eslint)")
LIMITS = {
    "pages/ui": 362, "tests/browser": 2,
    "tests/unit": 3,
}


def faults(text: str, headless: re.Pattern[str] = HEADLESS) -> Iterator[str]:
    """Findings in one docstring, comment or heading."""
    # Code, tables, headings of arguments and examples are not prose.
    prose = re.sub(r"``?[^`]*``?|https?://[^\s)]+", "X", text)
    for found in PRIVATE.finditer(prose):
        yield f"“{found.group()}”: write “{USUAL[found.lastgroup or '']}”"
    if headless.match(prose):
        yield f"no subject: “{prose.split(chr(10))[0]}”"
    lines = [line for line in prose.splitlines() if not re.match(r"\s*(>>>|[=|:-]{2,}|\w+:($| ))", line)]
    for sentence in re.split(r"(?<=[.!?:])\s+|\n\s*\n|\n\s*[-*\d]+[. ]", "\n".join(lines)):
        if (count := len(re.findall(r"[^\W_]+", sentence))) > LONGEST:
            yield f"{count} words: “{' '.join(sentence.split())[:60]} …”"


def faults_of_name(name: str) -> Iterator[str]:
    """Findings in the name of a test."""
    if HEADLESS_NAME.search(name):
        yield f"no subject: {name}"
    for found in PRIVATE.finditer(name.replace("_", " ")):
        yield f"“{found.group()}” in {name}: write “{USUAL[found.lastgroup or '']}”"


def definitions(node: ast.AST) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """A module, its classes and its functions, at any depth."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
    for statement in getattr(node, "body", []):
        yield from definitions(statement)


def faults_of_python(source: str) -> Iterator[str]:
    """Findings in the docstrings, comments and test names of a module."""
    for node in definitions(ast.parse(source)):
        text = ast.get_docstring(node) or ""
        yield from faults(text, HEADLESS_MODULE if isinstance(node, ast.Module) else HEADLESS)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from faults_of_name(node.name)
    # Lines of comments without code between them are one comment.
    for comment in re.findall(r"(?:^[ \t]*#.*\n?)+|(?<=  )# .*", source, re.MULTILINE):
        text = "\n".join(line.strip().lstrip("#! ") for line in comment.splitlines())
        yield from faults("" if FOR_TOOLS.match(text) else text)


def faults_of_javascript(source: str) -> Iterator[str]:
    """Findings in the comments of a script."""
    for comment in re.findall(r"/\*[\s\S]*?\*/|(?:^[ \t]*//.*\n?)+|(?<=\s)//.*", source, re.MULTILINE):
        text = "\n".join(line.strip("/* \t") for line in comment.splitlines()).strip()
        # Behind a type, "@param {T} name" is followed by a description.
        described = [re.sub(r"^@\w+ (\{[^\n]*\} ?)?(\[?\w+\]? )?", "\n", line) for line in text.splitlines()]
        yield from faults("" if FOR_TOOLS.match(text) else "\n".join(described).strip())


def faults_of_document(source: str) -> Iterator[str]:
    """Findings in the headings, paragraphs, lists and tables of a document."""
    source = re.sub(r"^```.*?^```|^( {4}.*\n)+", "", source, flags=re.DOTALL | re.MULTILINE)
    titles = {page.title for page in PAGES.values()}
    # Each heading, each row of a table, and each block of other lines.
    for block in re.findall(r"^(?:#.*|\|.*|(?:[^#|\n].*\n?)+)", source, re.MULTILINE):
        text = block.lstrip("# ")
        if text not in titles:
            # A cell need not be a sentence; only its words are checked.
            yield from (fault for fault in faults(text) if fault.startswith("“") or not text.startswith("|"))


READERS = {".py": faults_of_python, ".js": faults_of_javascript, ".md": faults_of_document}


def package_of(path: Path) -> str:
    """The package whose number counts the findings of a file."""
    parts = path.relative_to(ROOT).parent.parts
    return "/".join(parts[:1] if parts[:1] == ("assets",) else parts[:2]) or "."


def findings() -> dict[str, list[str]]:
    """All findings of the project by package."""
    found: dict[str, list[str]] = {}
    folders = ("transformer", "attention_atlas", "pages", "tests", "benchmarks", "deploy", "docs", "assets")
    paths = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*.*"))]
    for path in sorted(paths):
        if path.suffix in READERS and not {"vendor", "node_modules", "fonts"} & set(path.parts):
            each = READERS[path.suffix](path.read_text(encoding="utf-8"))
            found.setdefault(package_of(path), []).extend(f"{path.relative_to(ROOT)}: {fault}" for fault in each)
    return found


def test_findings_only_decrease():
    found = findings()
    counts = {package: len(each) for package, each in found.items()}
    more = {package: count for package, count in counts.items() if count > LIMITS.get(package, 0)}
    assert not more, "\n".join(fault for package in more for fault in found[package])


@pytest.mark.parametrize(("read", "planted", "count"), [
    (faults_of_python, '"""What saves the figures of a page, once a page."""', 1),
    (faults_of_python, '"""Ray, closed to whoever does not have its token."""', 1),
    (faults_of_python, f"{HASH} Which would else ask for a Ray.\n{HASH} Who asks is told nothing.\npass", 2),
    (faults_of_python, "def test_rubbish_from_the_browser_is_as_at_first():\n    pass", 1),
    (faults_of_python, "def test_what_is_no_request_is_refused():\n    pass", 1),
    (faults_of_python, f'def f():\n    """Returns {"one and " * 13} more."""', 1),
    (faults_of_python, f"x = 1  {HASH} Of a few tens of steps.", 1),
    (faults_of_javascript, "let a = 1; // Of a few tens of steps.", 1),
    (faults_of_javascript, "/**\n * Whoever asks.\n * @param {number} by\n */", 2),
    (faults_of_document, "# What is closed\n\nA stranger's model card.", 2),
])
def test_private_english_is_found(read, planted, count):
    assert len(list(read(planted))) == count


@pytest.mark.parametrize(("read", "plain"), [
    (faults_of_python, '"""FIFO lock that batches waiting requests of the same kind."""'),
    (faults_of_python, "x = 1  # noqa: E501 of rubbish\ny = 'hostile'"),
    (faults_of_python, "def test_invalid_browser_state_falls_back_to_defaults():\n    pass"),
    (faults_of_javascript, 'const address = "http://whoever";'),
    (faults_of_document, "# A lecture hall\n\n```\nwhoever\n```\n`visitor.py` runs in a lecture hall."),
])
def test_plain_english_passes(read, plain):
    assert not list(read(plain))


@pytest.mark.parametrize(("message", "count"), [
    ("Fix the width of a column\n\nIt was two pixels short.", 0), ("Serving: size the thread pool", 0),
    ("Process every row", 0), ("Merge branch 'main' into a branch that has a name of more than seventy-two letters", 0),
    ("Who asks after a run has failed is not told its error", 1), ("Fixes a column.", 2), (f"Fix {'x' * 69}", 1),
    ("Fix a column\nwithout an empty line", 1), ("", 2),
])
def test_commit_message_is_checked(message, count):
    faults_of_message = runpy.run_path(str(ROOT / ".ci" / "commit_message.py"))["faults"]
    assert len(faults_of_message(message)) == count


if __name__ == "__main__":
    print({package: len(each) for package, each in sorted(findings().items()) if each})
