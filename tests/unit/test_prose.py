"""Linter for the project's English: docstrings, comments, documents, test names, and texts on the screen.

CONTRIBUTING.md has the rules.
"""

import ast
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.ui.params.pages import PAGES

ROOT = Path(__file__).parents[2]
# Replaces a literal # in the examples below, so that the linter does not read them as comments of this file.
HASH = "#"
LONGEST = 25
# Words that only this project uses in a special sense, and the usual word for each.
WORDS = {
    r"(?<!lecture )halls?": "lecture mode, or lecture hall",
    r"mend(s|ed|ing)?": "fix",
    r"rubbish": "invalid",
    r"told(?! apart| from)": "reported",
    r"visitors?": "user",
    r"strangers?": "user",
    r"whoever": "user",
    r"somebody": "user",
    r"hostile": "untrusted",
    r"besides": "also",
    r"thereby": "so",
    r"e\.g\.": "for example",
    r"i\.e\.": "that is",
    r"(?<!-)pieces?(?! of bread)": "token",
    r"likeli(er|est)": "more or most likely",
}
PRIVATE = re.compile("|".join(rf"\b(?P<w{at}>{word})(?!\w)" for at, word in enumerate(WORDS)), re.IGNORECASE)
USUAL = {f"w{at}": usual for at, usual in enumerate(WORDS.values())}
HEADLESS = re.compile(r"(What|Which|Who|Whose|Whom|Whatever|Whoever|Of)\b(?!.*\?)")
HEADLESS_MODULE = re.compile(r"(What|Which|Who|Whose|Whom|Whatever|Whoever|Of|Where|How|When)\b(?!.*\?)")
# On screen, a text may begin with "What", as in "What arrives from below": first-year students understand it.
HEADLESS_ON_SCREEN = re.compile(r"(Who|Whose|Whom|Whatever|Whoever)\b(?!.*\?)")
HEADLESS_NAME = re.compile(r"test_(what|which|who|whose|whom|whoever|whatever|of)_|_what_is_")
# Start of a comment that addresses a tool.
FOR_TOOLS = re.compile(r"(noqa|type:|pyright:|ruff:|fmt:|@ts-|eslint)")
# Three words in a row, which suggest prose; and syntax of CSS, HTML, LaTeX or code, which rules out prose.
WORDS_IN_A_ROW = re.compile(r"[a-z]{2,},? [a-z]+,? [a-z]")
NO_PROSE = re.compile(r"[;{}]\s*$|^\s*<|\\\w+\{|\bimport |\b[a-z]+ = ")


def faults(text: str, headless: re.Pattern[str] = HEADLESS) -> Iterator[str]:
    """Yield the style faults in one docstring, comment or heading."""
    # Code, tables, argument names and examples are not prose.
    prose = re.sub(r"``?[^`]*``?|https?://[^\s)]+|\{[^{}]*\}", "X", text)
    for found in PRIVATE.finditer(re.sub(r"^ *\w+(, \w+)*: ", "", prose, flags=re.MULTILINE)):
        yield f"“{found.group()}”: write “{USUAL[found.lastgroup or '']}”"
    if headless.match(prose):
        yield f"no subject: “{prose.split(chr(10))[0]}”"
    lines = [line for line in prose.splitlines() if not re.match(r"\s*(>>>|[=|:-]{2,}|\w+:($| ))", line)]
    for sentence in re.split(r"(?<=[.!?:])\**\s+|\n\s*\n|\n\s*[-*\d]+[. ]", "\n".join(lines)):
        if (count := len(re.findall(r"[^\W_]+", sentence))) > LONGEST:
            yield f"{count} words: “{' '.join(sentence.split())[:60]} …”"


def faults_on_screen(text: str) -> Iterator[str]:
    """Yield the style faults in an on-screen text, in which X stands for each inserted value."""
    is_list = not re.search(r"[.,:;!?]", text) and len(text.split()) > LONGEST
    if not WORDS_IN_A_ROW.search(text) or NO_PROSE.search(text) or is_list:
        return
    # Sources and values in parentheses do not count as words of a sentence. In a text without a final full stop,
    # semicolons separate the items of a list, and each item counts as a sentence.
    text = re.sub(r" \([^()]*\)", "", text).rstrip()
    yield from faults(text if text.endswith(".") else text.replace(";", "."), HEADLESS_ON_SCREEN)


def faults_of_name(name: str) -> Iterator[str]:
    """Yield the style faults in the name of a test."""
    if HEADLESS_NAME.search(name):
        yield f"no subject: {name}"
    for found in PRIVATE.finditer(name.replace("_", " ")):
        yield f"“{found.group()}” in {name}: write “{USUAL[found.lastgroup or '']}”"


def definitions(node: ast.AST) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield a module, its classes and its functions, at any depth."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
    for statement in getattr(node, "body", []):
        yield from definitions(statement)


def faults_of_python(source: str) -> Iterator[str]:
    """Yield the style faults in the docstrings, comments and test names of a module."""
    for node in definitions(ast.parse(source)):
        text = ast.get_docstring(node) or ""
        yield from faults(text, HEADLESS_MODULE if isinstance(node, ast.Module) else HEADLESS)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from faults_of_name(node.name)
    # Comment lines without code between them are one comment.
    for comment in re.findall(r"(?:^[ \t]*#.*\n?)+|(?<=  )# .*", source, re.MULTILINE):
        text = "\n".join(line.strip().lstrip("#! ") for line in comment.splitlines())
        yield from faults("" if FOR_TOOLS.match(text) else text)


def faults_of_strings(source: str) -> Iterator[str]:
    """Yield the style faults in the strings of a module, except docstrings."""
    tree = ast.parse(source)
    inside = {
        id(part)
        for node in ast.walk(tree)
        for part in (
            [node.value]
            if isinstance(node, ast.Expr)
            else node.values
            if isinstance(node, ast.JoinedStr)
            else [node.format_spec]
            if isinstance(node, ast.FormattedValue)
            else ()
        )
    }
    for node in ast.walk(tree):
        if id(node) not in inside and isinstance(node, ast.JoinedStr):
            yield from faults_on_screen(
                "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            )
        elif id(node) not in inside and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from faults_on_screen(node.value)


def faults_of_script_strings(source: str) -> Iterator[str]:
    """Yield the style faults in the strings of a script."""
    code = re.sub(r"/\*[\s\S]*?\*/|^[ \t]*//.*|(?<=\s)//.*", "", source, flags=re.MULTILINE)
    for double, template in re.findall(r"\"([^\"\n]*)\"|`([^`\n]*)`", code):
        yield from faults_on_screen(double or re.sub(r"\$\{[^{}]*\}", "X", template))


def faults_of_texts(source: str) -> Iterator[str]:
    """Yield the style faults in the strings of a TOML file, except in example sentences."""
    values = [tomllib.loads(source)]
    for value in values:
        if isinstance(value, dict):
            value = [each for key, each in value.items() if key != "sentence"]
        values += value if isinstance(value, list) else ()
        yield from faults_on_screen(value) if isinstance(value, str) else ()


def faults_of_javascript(source: str) -> Iterator[str]:
    """Yield the style faults in the comments of a script."""
    for comment in re.findall(r"/\*[\s\S]*?\*/|(?:^[ \t]*//.*\n?)+|(?<=\s)//.*", source, re.MULTILINE):
        text = "\n".join(line.strip("/* \t") for line in comment.splitlines()).strip()
        # Keep only the description that follows a tag such as "@param {T} name".
        described = [re.sub(r"^@\w+ (\{[^\n]*\} ?)?(\[?\w+\]?( |$))?", "\n", line) for line in text.splitlines()]
        yield from faults("" if FOR_TOOLS.match(text) else "\n".join(described).strip())


def faults_of_document(source: str) -> Iterator[str]:
    """Yield the style faults in the headings, paragraphs, lists and tables of a document."""
    source = re.sub(r"^```.*?^```|^( {4}.*\n)+", "", source, flags=re.DOTALL | re.MULTILINE)
    titles = {page.title for page in PAGES.values()}
    # A block is a heading, a table row, or a group of other lines.
    for block in re.findall(r"^(?:#.*|\|.*|(?:[^#|\n].*\n?)+)", source, re.MULTILINE):
        text = block.lstrip("# ")
        if text not in titles:
            # A table cell need not be a sentence, so check only its words.
            yield from (fault for fault in faults(text) if fault.startswith("“") or not text.startswith("|"))


READERS = {".py": faults_of_python, ".js": faults_of_javascript, ".md": faults_of_document}
# Linters for texts on the screen and in the terminal, by file suffix.
ON_SCREEN = {".py": faults_of_strings, ".js": faults_of_script_strings, ".toml": faults_of_texts}


def findings() -> list[str]:
    """Return all style faults in the project, with their files."""
    folders = ("transformer", "attention_atlas", "pages", "tests", "benchmarks", "deploy", "docs", "assets")
    paths = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*.*"))]
    return [
        f"{path.relative_to(ROOT)}: {fault}"
        for path in sorted(paths)
        if path.suffix in READERS and not {"vendor", "node_modules", "fonts"} & set(path.parts)
        for fault in READERS[path.suffix](path.read_text(encoding="utf-8"))
    ] + [
        f"{path.relative_to(ROOT)}: {fault}"
        for folder in ("transformer", "attention_atlas", "pages", "assets")
        for path in sorted((ROOT / folder).rglob("*.*"))
        if path.suffix in ON_SCREEN and not {"vendor", "node_modules", "fonts"} & set(path.parts)
        for fault in ON_SCREEN[path.suffix](path.read_text(encoding="utf-8"))
    ]


def test_project_texts_pass_the_prose_linter():
    assert not (found := findings()), "\n".join(found)


@pytest.mark.parametrize(
    ("read", "planted", "count"),
    [
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
        (faults_of_strings, "st.caption(f'{count} pieces are read, and each visitor sees them.')", 2),
        (faults_of_strings, "raise ValueError('Who asks for a run that has failed is told nothing.')", 2),
        (faults_of_script_strings, "const note = `${count} pieces of the text are read.`;", 1),
        (faults_of_texts, f'[[steps]]\nlook_for = "It is {"one and " * 13} more."', 1),
    ],
)
def test_prose_linter_finds_unclear_english(read, planted, count):
    assert len(list(read(planted))) == count


@pytest.mark.parametrize(
    ("read", "plain"),
    [
        (faults_of_python, '"""FIFO lock that batches waiting requests of the same kind."""'),
        (faults_of_python, "x = 1  # noqa: E501 of rubbish\ny = 'hostile'"),
        (faults_of_python, "def test_invalid_browser_state_falls_back_to_defaults():\n    pass"),
        (faults_of_javascript, 'const address = "http://whoever";'),
        (
            faults_of_strings,
            "table = {'pieces': 1}\nst.write('What comes later is hidden from the {size} that looks.')",
        ),
        (faults_of_script_strings, "element('p', { class: 'piece' }); // Words of a comment: whoever"),
        (faults_of_document, "# A lecture hall\n\n```\nwhoever\n```\n`visitor.py` runs in a lecture hall."),
    ],
)
def test_prose_linter_accepts_plain_english(read, plain):
    assert not list(read(plain))


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("Fix the width of a column\n\nIt was two pixels short.", 0),
        ("Serving: size the thread pool", 0),
        ("Process every row", 0),
        ("Assess the heads", 0),
        ("Always close the file", 0),
        ("Merge branch 'main' into a branch that has a name of more than seventy-two letters", 0),
        ("Who asks after a run has failed is not told its error", 1),
        ("Fixes a column.", 2),
        (f"Fix {'x' * 69}", 1),
        ("Fix a column\nwithout an empty line", 1),
        ("", 2),
    ],
)
def test_prose_linter_checks_commit_messages(message, count):
    faults_of_message = runpy.run_path(str(ROOT / ".ci" / "commit_message.py"))["faults"]
    assert len(faults_of_message(message)) == count
