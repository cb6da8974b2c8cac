"""The glossary of technical terms, for help texts and for docs/glossary.md.

Regenerate the document with: python -m pages.ui.text.glossary > docs/glossary.md
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import transformer.values.trace
from transformer.files.paths import ASSETS

FILE = ASSETS / "glossary.toml"
# Matches a line that describes an array in the docstring of transformer/values/trace.py; groups: name, shape, text.
ARRAY = re.compile(r"^- ([a-zA-Z_]+) (\[[^]]*\])(?:: (.*)|\.)$", re.MULTILINE)
INTRODUCTION = """\
# Glossary

`python -m pages.ui.text.glossary > docs/glossary.md` writes this file from `assets/glossary.toml`. The app's help texts
use the same explanations.
"""
ARRAYS = """\
## The arrays of a trace

The table lists the arrays of `transformer.Trace` and their names in Hugging Face (outputs of an encoder-decoder model)
and in TransformerLens (hooks of `HookedEncoderDecoder`). In these libraries, the arrays begin with a batch dimension,
and each layer has a separate array, numbered from 0 (LAYER). A trace stacks the layers. KIND is `encoder`, `decoder` or
`cross`. `transformer/values/trace.py` explains the letters in the shapes.

| `Trace` | shape | Hugging Face | TransformerLens |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Term:
    """A technical term.

    Attributes:
        name: the term as spelled in the app.
        text: an explanation in one or two plain sentences.
        also: synonyms.
    """

    name: str
    text: str
    also: Sequence[str] = ()


@dataclass(frozen=True)
class Array:
    """An array of a `Trace`, with the corresponding names in other libraries."""

    name: str
    hugging_face: str
    transformer_lens: str


@dataclass(frozen=True)
class Glossary:
    """The whole glossary: terms grouped by topic, and the arrays of a trace."""

    groups: dict[str, tuple[Term, ...]]
    arrays: tuple[Array, ...]


@cache
def glossary() -> Glossary:
    """Return the content of assets/glossary.toml."""
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Glossary(
        {group["title"]: tuple(Term(**term) for term in group["term"]) for group in content["group"]},
        tuple(Array(**array) for array in content["array"]),
    )


def explain(*names: str) -> str:
    """Return Markdown that explains terms, for Streamlit's `help` argument.

    For a single term, return only its explanation. For several, return a paragraph for each, which begins with the
    term.

    Args:
        names: terms or synonyms.

    Raises:
        KeyError: the glossary lacks one of the names.
    """
    terms = _by_word()
    if len(names) == 1:
        return terms[names[0]].text
    return "\n\n".join(f"**{name[0].upper()}{name[1:]}:** {terms[name].text}" for name in names)


def words() -> tuple[str, ...]:
    """Return all terms and synonyms that `explain` accepts."""
    return tuple(_by_word())


def explain_words_of(text: str) -> str | None:
    """Return Markdown that explains the terms in a text, for Streamlit's `help` argument; None if there are none."""
    # If several synonyms of a term occur in the text, explain only the longest of them.
    words_by_term = {term.name: word for word, term in sorted(_by_word().items(), key=_length) if _occurs(word, text)}
    return explain(*words_by_term.values()) if words_by_term else None


def document() -> str:
    """Return the text of docs/glossary.md."""
    parts = [INTRODUCTION]
    for title, terms in glossary().groups.items():
        parts.append(f"## {title}\n")
        parts += [f"**{term.name}**{_also(term)}: {term.text}\n" for term in terms]
    shapes = {name: shape for name, shape, _ in ARRAY.findall(transformer.values.trace.__doc__ or "")}
    rows = [
        f"| `{array.name}` | {shapes[array.name]} | {array.hugging_face} | {array.transformer_lens} |"
        for array in glossary().arrays
    ]
    return "\n".join([*parts, ARRAYS + "\n".join(rows)]) + "\n"


def _length(entry: tuple[str, Term]) -> int:
    return len(entry[0])


def _occurs(word: str, text: str) -> bool:
    plural = f"{re.escape(word[:-1])}(y|ies)" if word.endswith("y") else f"{re.escape(word)}s?"
    return re.search(rf"\b{plural}\b", text, flags=re.IGNORECASE) is not None


@cache
def _by_word() -> dict[str, Term]:
    return {word: term for group in glossary().groups.values() for term in group for word in (term.name, *term.also)}


def _also(term: Term) -> str:
    return f" (also: {', '.join(term.also)})" if term.also else ""


if __name__ == "__main__":
    # Write bytes, so that encoding and line endings do not depend on the console.
    sys.stdout.buffer.write(document().encode("utf-8"))
