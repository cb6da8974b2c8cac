"""Special tokens before and after a text, such as language codes and start symbols."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import msgspec

from transformer.files.small_files import json_object
from transformer.text.vocabulary import Symbols, split_code

# File in a model folder that stores the `Affixes`.
SYMBOLS = "symbols.json"


@dataclass(frozen=True)
class Affixes:
    """A vocabulary's special tokens, and the tokens that the model expects before and after a text.

    Codes at the beginning of a source text choose the source and target language: "<<eng_Latn>> >>deu_Latn<< A dog."

    Attributes:
        pad, unknown, start, end: as in `Symbols`.
        before: ids of the tokens that every source begins with.
        first: ids of the tokens that every translation begins with; unused if `target` is set.
        languages: ids of the language tokens, by language code.
        source, target: language codes for texts without a code; "" if the source or target has no language token.
        code_last: whether the source language token follows the end symbol instead of preceding the text.
        byte_level: whether the vocabulary is a `ByteTokenizer`.
    """

    pad: int
    unknown: int
    start: int
    end: int
    before: tuple[int, ...] = ()
    first: tuple[int, ...] = ()
    languages: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    target: str = ""
    code_last: bool = False
    byte_level: bool = False

    def __post_init__(self) -> None:
        if min(self.ids) < 0:
            raise ValueError(f"{SYMBOLS} contains the negative id {min(self.ids)}")
        for code in (self.source, self.target):
            if code and code not in self.languages:
                raise ValueError(f"{SYMBOLS} has no id for the language {code!r}")

    @property
    def symbols(self) -> Symbols:
        return Symbols(pad=self.pad, unknown=self.unknown, start=self.start, end=self.end)

    @property
    def ids(self) -> tuple[int, ...]:
        return (self.pad, self.unknown, self.start, self.end, *self.before, *self.first, *self.languages.values())

    def check(self, size: int, name: str) -> None:
        """Check that every id is in the vocabulary.

        Args:
            size: vocabulary size.
            name: name of the vocabulary file, for the error message.

        Raises:
            ValueError: an id is not below `size`.
        """
        if max(self.ids) >= size:
            raise ValueError(f"{SYMBOLS} names token {max(self.ids)}, but {name} has only tokens 0 to {size - 1}")

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes that a source text may begin with: "<<eng_Latn>>" for the source, ">>deu_Latn<<" for the target."""
        read = [f"<<{code}>>" for code in sorted(self.languages)] if self.source else []
        return (*read, *([f">>{code}<<" for code in sorted(self.languages)] if self.target else ()))

    def begin(self, text: str) -> tuple[int, ...]:
        """Return the ids that the translation of a source text must begin with, depending on the codes in the text."""
        if not self.target:
            return self.first
        return (self.languages[self._asked(text, ">", self.target)],)

    def around(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids to put before a source text's tokens, and the ids to put after the end symbol."""
        code = (self.languages[self._asked(text, "<", self.source)],) if self.source else ()
        return (self.before, code) if self.code_last else ((*self.before, *code), ())

    def to_json(self) -> bytes:
        """Return the content of symbols.json, without optional fields that have their default value."""
        default = asdict(Affixes(0, 0, 0, 0))
        values = {
            name: value
            for name, value in asdict(self).items()
            if name in ("pad", "unknown", "start", "end") or value != default[name]
        }
        return (json.dumps(values) + "\n").encode("ascii")

    def _asked(self, text: str, side: str, default: str) -> str:
        codes = split_code(text, self.codes)[0].split()
        return next((code[2:-2] for code in codes if code.startswith(side)), default)


def read_affixes(content: bytes) -> Affixes:
    """Parse the content of symbols.json, as written by `Affixes.to_json`.

    Raises:
        ValueError: the content is invalid.
    """
    try:
        return msgspec.convert(json_object(content, SYMBOLS), Affixes)
    except msgspec.ValidationError as error:
        raise ValueError(f"{SYMBOLS} must have pad, unknown, start and end, each a token id: {error}") from None
