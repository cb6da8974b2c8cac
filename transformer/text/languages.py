"""Which languages a model translates, and what they are called in English."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

from transformer.files.paths import ASSETS
from transformer.files.replacing import write_text
from transformer.files.small_files import read_small_json

# Its file in a model folder: {"source": "en", "target": "fr"}.
FILE = "languages.json"
CODE = re.compile("[A-Za-z][A-Za-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Language:
    """A language, or a group of them.

    Attributes:
        code: as the model's makers write it: "de", "deu", "ROMANCE".
        name: in English; the code itself if it is not known.
        right_to_left: which way its script runs.
    """

    code: str
    name: str
    right_to_left: bool = False

    @property
    def direction(self) -> str:
        """The same as HTML's dir says it."""
        return "rtl" if self.right_to_left else "ltr"


class Languages(NamedTuple):
    """What a model reads, and what it writes."""

    source: Language
    target: Language

    def __str__(self) -> str:
        return f"{self.source.name} → {self.target.name}"

    def asked_for(self, code: str) -> Languages:
        """The same for a text that asks for a target language by its code, ">>fra<<"; unchanged for any other text."""
        return self._replace(target=language(code[2:-2])) if is_code(code[2:-2]) else self


@cache
def _known() -> dict[str, Language]:
    """Languages by their codes of two and of three letters."""
    known = {}
    for line in (ASSETS / "languages.tsv").read_text(encoding="utf-8").splitlines():
        codes, name, direction = line.split("\t")
        for code in codes.split():
            known[code] = Language(code, name, direction == "rtl")
    return known


def is_code(value: object) -> TypeGuard[str]:
    """Whether something that a file says may be the code of a language, and so stand in any text of a page."""
    return isinstance(value, str) and CODE.fullmatch(value) is not None


def is_language(code: str) -> bool:
    """Whether a code of two or three letters is that of a language that has a name here."""
    return code in _known()


def language(code: str) -> Language:
    """The language with a code; what follows a region or a script ("pt_BR", "zho_Hans") does not matter."""
    base = code.replace("-", "_").split("_")[0].lower()
    known = _known().get(base)
    return Language(code, known.name, known.right_to_left) if known else Language(code, code)


def given_language(code: str) -> Language:
    """The language that a person means by a code.

    Raises:
        ValueError: it is no code; the message says what to write.
    """
    if not is_code(code):
        raise ValueError(f"{code!r} is no code of a language: write it as en, deu or pt_BR")
    found = language(code)
    if found.name == code:
        # Not known: a group of languages, such as ROMANCE, or the name where the code was meant.
        for each in _known().values():
            if each.name.lower() == code.lower():
                raise ValueError(f"{code!r} is the name of a language: write its code, {each.code}")
    return found


# Those of a folder that names none: the trainer here is made for this pair.
LANGUAGES = Languages(Language("en", "English"), Language("de", "German"))


def read_languages(folder: Path) -> Languages:
    """The languages of a model folder, source and target.

    Raises:
        OSError, ValueError: languages.json is there, and does not name them.
    """
    path = folder / FILE
    if not path.exists():
        return LANGUAGES
    codes = read_small_json(path)
    if not all(is_code(codes.get(side)) for side in ("source", "target")):
        raise ValueError(f'{FILE} should be as {{"source": "en", "target": "de"}}')
    return Languages(language(codes["source"]), language(codes["target"]))


def write_languages(folder: Path, languages: Languages) -> None:
    """Write what `read_languages` reads."""
    source, target = languages
    write_text(folder / FILE, json.dumps({"source": source.code, "target": target.code}) + "\n")
