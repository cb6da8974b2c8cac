"""Source and target languages of a model, with English names for language codes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

from transformer.files.atomic_writes import write_text
from transformer.files.paths import ASSETS
from transformer.files.small_files import read_small_json

# Name of the file with the language codes in a model folder. Example content: {"source": "en", "target": "fr"}.
LANGUAGES_FILE = "languages.json"
CODE = re.compile("[A-Za-z][A-Za-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Language:
    """A language, or a group of languages.

    Attributes:
        code: code used by the model's authors, such as "de", "deu" or "ROMANCE".
        name: English name; the code itself if the name is unknown.
        right_to_left: whether the language is written from right to left.
    """

    code: str
    name: str
    right_to_left: bool = False

    @property
    def direction(self) -> str:
        """The value of HTML's dir attribute."""
        return "rtl" if self.right_to_left else "ltr"


class Languages(NamedTuple):
    """Source and target language of a model."""

    source: Language
    target: Language

    def __str__(self) -> str:
        return f"{self.source.name} → {self.target.name}"

    def for_codes(self, codes: str) -> Languages:
        """Return the languages that a text's codes select: ">>fra<<" sets the target, "<<eng>> >>fra<<" sets both."""
        sides = {"source" if code.startswith("<") else "target": code[2:-2] for code in codes.split()}
        return self._replace(**{side: language(code) for side, code in sides.items() if is_code(code)})


@cache
def _known_languages() -> dict[str, Language]:
    """Load the known languages, by two- and three-letter code."""
    languages = {}
    for line in (ASSETS / "languages.tsv").read_text(encoding="utf-8").splitlines():
        codes, name, direction = line.split("\t")
        for code in codes.split():
            languages[code] = Language(code, name, direction == "rtl")
    return languages


def is_code(value: object) -> TypeGuard[str]:
    """Whether a value from an untrusted file looks like a language code and is safe to show on a page."""
    return isinstance(value, str) and CODE.fullmatch(value) is not None


def is_language(code: str) -> bool:
    """Whether `code` is a two- or three-letter language code with a known name."""
    return code in _known_languages()


def language(code: str) -> Language:
    """Return the language for a code, ignoring a region or script suffix ("pt_BR", "zho_Hans")."""
    base = code.replace("-", "_").split("_")[0].lower()
    found = _known_languages().get(base)
    return Language(code, found.name, found.right_to_left) if found else Language(code, code)


def typed_language(code: str) -> Language:
    """Return the language for a code typed by the user.

    Raises:
        ValueError: `code` is not a language code; the message says what to write.
    """
    if not is_code(code):
        raise ValueError(f"{code!r} is not a language code: write a code such as en, deu or pt_BR")
    known = language(code)
    if known.name == code:
        # An unknown code may denote a group of languages, such as ROMANCE, but must not be the name of a language.
        for each in _known_languages().values():
            if each.name.lower() == code.lower():
                raise ValueError(f"{code!r} is the name of a language: use its code, {each.code}")
    return known


# Default for a model folder without languages.json: the languages of this project's own translation models.
LANGUAGES = Languages(Language("en", "English"), Language("de", "German"))


def read_languages(folder: Path) -> Languages:
    """Read the source and target language from a model folder; return `LANGUAGES` if there is no languages.json.

    Raises:
        OSError: languages.json cannot be read.
        ValueError: languages.json does not name both languages.
    """
    path = folder / LANGUAGES_FILE
    if not path.exists():
        return LANGUAGES
    codes = read_small_json(path)
    if not all(is_code(codes.get(side)) for side in ("source", "target")):
        raise ValueError(f'{LANGUAGES_FILE} must look like {{"source": "en", "target": "de"}}')
    return Languages(language(codes["source"]), language(codes["target"]))


def write_languages(folder: Path, languages: Languages) -> None:
    """Write languages.json to a model folder."""
    source, target = languages
    write_text(folder / LANGUAGES_FILE, json.dumps({"source": source.code, "target": target.code}) + "\n")
