"""Linter for the project's English: docstrings, comments, documents and test names.

CONTRIBUTING.md has the rules. `LIMITS` has today's number of findings per package; a number may only fall.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 25
# Words with a meaning that only this project gave them, and the usual word.
WORDS = {
    r"(?<!lecture )halls?": "lecture mode, or lecture hall", r"mend(s|ed|ing)?": "fix", r"told(?! apart| from)": "reported",
    r"rubbish": "invalid", r"visitors?": "user", r"strangers?": "user", r"whoever": "user", r"somebody": "user",
    r"hostile": "untrusted", r"besides": "also", r"thereby": "so", r"e\.g\.": "for example", r"i\.e\.": "that is",
}
PRIVATE = {re.compile(rf"\b{word}(?!\w)", re.IGNORECASE): usual for word, usual in WORDS.items()}
HEADLESS = re.compile(r"(What|Which|Who|Whose|Whom|Whatever|Whoever|Of)\b(?!.*\?)")
HEADLESS_MODULE = re.compile(r"(What|Which|Who|Whose|Whom|Whatever|Whoever|Of|Where|How|When)\b(?!.*\?)")
HEADLESS_NAME = re.compile(r"test_(what|which|who|whose|whom|whoever|whatever|of)_|_what_is_")
# Marks that a comment may begin with, for a tool.
FOR_TOOLS = re.compile(r"(noqa|type:|pyright:|ruff:|fmt:|@ts-|eslint)")
LIMITS: dict[str, int] = {}


def faults(text: str, headless: re.Pattern[str] = HEADLESS) -> Iterator[str]:
    """Findings in one docstring, comment or heading."""
    # Code is not prose, nor are a table, a list of arguments and an example.
    prose = re.sub(r"``?[^`]*``?|https?://\S+", "X", text)
    for pattern, usual in PRIVATE.items():
        yield from (f"“{found.group()}”: write “{usual}”" for found in pattern.finditer(prose))
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
    for pattern, usual in PRIVATE.items():
        yield from (f"“{found.group()}” in {name}: write “{usual}”" for found in pattern.finditer(name.replace("_", " ")))


def faults_of_python(source: str) -> Iterator[str]:
    """Findings in the docstrings, comments and test names of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
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
    """Findings in a document: in its headings all, in the rest the words alone."""
    source = re.sub(r"^```.*?^```|^( {4}.*\n)+", "", source, flags=re.DOTALL | re.MULTILINE)
    for line in source.splitlines():
        heading = re.match(r"#+ (.*)", line)
        found = faults(heading.group(1) if heading else line)
        yield from (fault for fault in found if heading or fault.startswith("“"))


READERS = {".py": faults_of_python, ".js": faults_of_javascript, ".md": faults_of_document}


def package_of(path: Path) -> str:
    """The package whose number counts the findings of a file."""
    parts = path.relative_to(ROOT).parent.parts
    return "/".join(parts[: 3 if parts[:2] == ("pages", "ui") else 2]) or "."


def findings() -> dict[str, list[str]]:
    """All findings of the project by package."""
    found: dict[str, list[str]] = {}
    folders = ("transformer", "attention_atlas", "pages", "tests", "benchmarks", "deploy", "docs", "assets")
    paths = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*.*"))]
    for path in sorted(paths):
        if path.suffix in READERS and not {"vendor", "node_modules"} & set(path.parts):
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
    (faults_of_python, "def f():\n    # Which would else ask for a Ray.\n    # Who asks is told nothing.\n    pass", 2),
    (faults_of_python, "def test_rubbish_from_the_browser_is_as_at_first():\n    pass", 1),
    (faults_of_python, "def test_what_is_no_request_is_refused():\n    pass", 1),
    (faults_of_python, f'def f():\n    """Returns {"one and " * 13} more."""', 1),
    (faults_of_python, "x = 1  # Of a few tens of steps.", 1),
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


if __name__ == "__main__":
    counted = Counter({package: len(each) for package, each in findings().items()})
    print("\n".join(f'    "{package}": {count},' for package, count in sorted(counted.items()) if count))
