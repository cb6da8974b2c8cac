"""What every vocabulary offers, whichever files it is made of: pieces, their ids, and which are no part of a text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from transformer.values.kinds import Kind

SPACE_MARK = "▁"
# What a source text begins with if the model writes several languages: ">>fra<<".
TARGET_CODE = re.compile(">>.+<<")
# What a piece is if it is not part of a text, or stands for a part that the vocabulary cannot spell.
Role = Literal["", "padding", "start", "end", "language", "unknown"]


@dataclass(frozen=True)
class Piece:
    """One entry of the vocabulary at one place of a text.

    Attributes:
        id: in the vocabulary.
        text: as the vocabulary spells it: "▁Hund" (▁ is the space before it), "<0xF0>" (one byte), "</s>".
        span: the characters [start, end) of the text that it covers, spaces left out; None for special
            pieces. The bytes of one character share its span; a lone space mark covers nothing, start = end.
        role: what it is, if it is no ordinary piece.
    """

    id: int
    text: str
    span: tuple[int, int] | None
    role: Role = ""

    @property
    def special(self) -> bool:
        """Whether it stands for no text: padding, start and end symbol, a language code."""
        return bool(self.role) and self.role != "unknown"


@dataclass(frozen=True)
class Symbols:
    """Ids of the pieces that are not part of a text.

    Attributes:
        pad: fills the end of the shorter rows of a batch.
        unknown: stands for what the vocabulary cannot spell.
        start: what the decoder reads first; the same as `pad` in Marian's models.
        end: of a text.
    """

    pad: int
    unknown: int
    start: int
    end: int

    @property
    def never_predicted(self) -> frozenset[int]:
        """Symbols of the batch and of the decoder's input. No training example has them as the next piece, so the
        probability a model gives them means nothing, and padding taken for a piece would look like the end. The end
        itself can be predicted, also where one symbol is all of them, as in GPT-2."""
        return frozenset({self.pad, self.start} - {self.end})

    def role(self, piece: int) -> Role:
        """The role of an id; empty for a piece of text."""
        roles: dict[int, Role] = {
            self.unknown: "unknown", self.pad: "padding", self.end: "end", self.start: "start"
        }
        return roles.get(piece, "")


# Of the vocabularies that `transformer.training` makes.
OWN = Symbols(pad=0, unknown=1, start=2, end=3)


def target_codes(texts: Iterable[str]) -> tuple[str, ...]:
    """The codes of target languages among the pieces of a vocabulary, sorted."""
    return tuple(sorted(text for text in texts if TARGET_CODE.fullmatch(text)))


def split_code(text: str, codes: Collection[str]) -> tuple[str, str]:
    """The code of a target language that a text begins with, and the rest; without one, "" and the text."""
    end = text.find("<<") + 2
    return (text[:end], text[end:]) if text.startswith(">>") and text[:end] in codes else ("", text)


def with_code(text: str, code: str, codes: Collection[str]) -> str:
    """A text that asks for a target language, unless it begins with a code of its own; any text if there is no code."""
    return text if not code or split_code(text, codes)[0] else f"{code} {text.lstrip()}"


class TextVocabulary(Protocol):
    """What a language model needs of its vocabulary. Threads may share one.

    Attributes:
        symbols, size, texts, files, fingerprint: as in `Vocabulary`.
    """

    symbols: Symbols
    size: int
    texts: tuple[str, ...]
    files: Mapping[str, bytes]

    @property
    def fingerprint(self) -> str: ...

    def encode(self, text: str, *, end: bool) -> tuple[Piece, ...]:
        """The pieces of a text, the end symbol after them if `end`; their spans refer to `text` as typed."""
        ...

    def pieces(self, ids: Sequence[int]) -> tuple[Piece, ...]:
        """The pieces with these ids; their spans refer to `decode(ids)`."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of pieces: symbols left out, bytes joined, broken bytes as U+FFFD."""
        ...


class Vocabulary(Protocol):
    """Text to pieces and back. Threads may share one.

    Attributes:
        symbols: ids of the pieces that are not part of a text.
        size, source_size: number of target pieces V, and of source pieces; one vocabulary may serve both sides.
        texts: how it spells each target piece, V.
        codes: source pieces that ask for a target language, as ">>fra<<"; empty if the model has only one.
        files: what it is made of, by name in a model folder.
        fingerprint: changes whenever anything of it does.
    """

    symbols: Symbols
    size: int
    source_size: int
    texts: tuple[str, ...]
    codes: tuple[str, ...]
    files: Mapping[str, bytes]

    @property
    def fingerprint(self) -> str: ...

    def encode_source(self, text: str) -> tuple[Piece, ...]:
        """The pieces of a source text, the end symbol last; their spans refer to `text` as typed."""
        ...

    def encode_target(self, text: str) -> tuple[Piece, ...]:
        """The same of a target text."""
        ...

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        """Ids of the pieces of a target text, with the end symbol unless `end` is False."""
        ...

    def pieces(self, ids: Sequence[int]) -> tuple[Piece, ...]:
        """The target pieces with these ids; their spans refer to `decode(ids)`."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of target pieces: special ones left out, bytes joined, broken bytes as U+FFFD."""
        ...

    def key_scores(self, kind: Kind) -> Sequence[float]:
        """How common each piece is that a kind of attention looks at, by id: a lower score is rarer."""
        ...
