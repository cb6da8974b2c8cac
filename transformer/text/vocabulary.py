"""The interface of every vocabulary, whatever its files are: tokens, their ids, and its symbols."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from transformer.text.spelling import Spelling
from transformer.values.kinds import Kind
from transformer.values.tokens import Role, Token

SPACE_MARK = "▁"
# Spelling of a token that is one byte and not a whole character.
BYTE = re.compile("<0x([0-9A-F]{2})>")
# The signs that show white space: in a text, and in the spelling of a token.
VISIBLE_SPACE = "␣"
LINE_SIGNS = {"\n": "↵", "\t": "⇥"}
SIGNS = {SPACE_MARK: VISIBLE_SPACE} | {f"<0x{ord(each):02X}>": sign for each, sign in LINE_SIGNS.items()}
WHITE = re.compile("|".join(SIGNS))
# The beginning of a source text that chooses the target language, if the model writes several: ">>fra<<".
TARGET_CODE = re.compile(">>.+<<")
# A code at the beginning of a source text: "<<eng_Latn>>" for its own language, ">>deu_Latn<<" for the target's.
ANY_CODE = re.compile(r"\s*(<<[^<>]+>>|>>[^<>]+<<)")


def label_parts(token: Token, text: str) -> tuple[str, str]:
    """The two parts of a token's label: its characters in the text, if the spelling hides them, and the spelling.

    White space is made visible, and special tokens are named.

    Args:
        token: of a text, or of a vocabulary if its span is None.
        text: the text that its span refers to.
    """
    if token.special:
        return "", token.text if token.role == "symbol" else f"{token.text} {token.role}"
    spelling = WHITE.sub(lambda found: SIGNS[found[0]], token.text)
    if token.span is None or not (token.role == "unknown" or BYTE.search(spelling)):
        return "", spelling
    covered = text[slice(*token.span)]
    return covered if any(map(has_shape, covered)) else "", spelling


def inner_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Shorten a span [start, end) of a text so that it excludes outer spaces."""
    while start < end and text[start] == " ":
        start += 1
    while end > start and text[end - 1] == " ":
        end -= 1
    return start, end


def has_shape(character: str) -> bool:
    """Whether a character is visible by itself: not white space, a control character or half of a surrogate pair."""
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")


@dataclass(frozen=True)
class Symbols:
    """Ids of the tokens that are not part of a text.

    Attributes:
        pad: fills the end of the shorter rows of a batch.
        unknown: stands for text that the vocabulary cannot spell.
        start: the first token that the decoder reads; the same as `pad` in Marian's models.
        end: ends a text.
        start_is_text: whether the start symbol is also a token of ordinary texts. It is then a symbol only as the
            decoder's first token.
    """

    pad: int
    unknown: int
    start: int
    end: int
    start_is_text: bool = False

    @property
    def never_predicted(self) -> frozenset[int]:
        """Symbols that training never predicts: padding and the start symbol.

        The probability that a model gives them has no meaning, and predicted padding would look like the end. The end
        symbol itself can be predicted, even if one symbol serves as all of them, as in GPT-2.
        """
        return frozenset({self.pad, *(() if self.start_is_text else (self.start,))} - {self.end})

    def role(self, token: int) -> Role:
        """The role of a token id anywhere in a text; "" for a token of text."""
        roles: dict[int, Role] = {self.unknown: "unknown", self.pad: "padding", self.start: "start", self.end: "end"}
        return "" if self.start_is_text and token == self.start else roles.get(token, "")


# The symbols of the vocabularies that `transformer.training` makes.
OWN = Symbols(pad=0, unknown=1, start=2, end=3)


def target_codes(texts: Iterable[str]) -> tuple[str, ...]:
    """The codes of target languages among the tokens of a vocabulary, sorted."""
    return tuple(sorted(text for text in texts if TARGET_CODE.fullmatch(text)))


def split_code(text: str, codes: Collection[str]) -> tuple[str, str]:
    """Split a text into the language codes at its beginning, at most one per side ("" for none), and the rest."""
    found: dict[str, str] = {}
    at = 0
    while (code := ANY_CODE.match(text, at)) and code[1] in codes and code[1][0] not in found:
        found[code[1][0]], at = code[1], code.end()
    return " ".join(found[side] for side in sorted(found)), text[at:]


def with_code(text: str, code: str, codes: Collection[str]) -> str:
    """Add language codes to a text. Codes that the text already has stay, and it is unchanged if `code` adds none."""
    own, rest = split_code(text, codes)
    both = {each[0]: each for each in (*code.split(), *own.split())}
    merged = " ".join(both[side] for side in sorted(both))
    return text if merged == own else f"{merged} {rest.lstrip()}"


class TextVocabulary(Protocol):
    """Converts the text that a decoder reads and writes to tokens and back. Threads may share one.

    Attributes:
        symbols: ids of the tokens that are not part of a text.
        size: number of tokens V.
        texts: the spelling of each token, V, as in `Token`.
        files: its files, by name in a model folder.
        fingerprint: changes whenever any part of the vocabulary changes.
        spelling: decides where tokens that are parts of a character may be written, so that texts have whole
            characters.
    """

    symbols: Symbols
    size: int
    texts: tuple[str, ...]
    files: Mapping[str, bytes]

    @property
    def fingerprint(self) -> str: ...

    @property
    def spelling(self) -> Spelling: ...

    def encode(self, text: str, *, end: bool) -> tuple[Token, ...]:
        """The tokens of a text, followed by the end symbol if `end`; their spans refer to `text` as typed."""
        ...

    def tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """The tokens with these ids; their spans refer to `decode(ids)`."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens: symbols are left out, bytes are joined, and invalid bytes become U+FFFD."""
        ...


class Vocabulary(TextVocabulary, Protocol):
    """The vocabulary of a translator; the members of `TextVocabulary` belong to the target.

    Attributes:
        source_size: number of source tokens; one vocabulary may serve both sides.
        codes: codes that may begin a source text and choose a language: ">>fra<<" for the target's and "<<eng>>" for
            the source's; empty if the model has only one of each.
    """

    source_size: int
    codes: tuple[str, ...]

    def encode_source(self, text: str) -> tuple[Token, ...]:
        """The tokens of a source text, the end symbol last; their spans refer to `text` as typed."""
        ...

    def begin(self, text: str) -> tuple[int, ...]:
        """Ids that the translation of a source text begins with: that of a language code or of a symbol."""
        ...

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        """Ids of the tokens of a target text, with the end symbol unless `end` is False."""
        ...

    def key_scores(self, kind: Kind) -> Sequence[float]:
        """How common each token is that can be a key of a kind of attention, by id; a rarer token has a lower score."""
        ...


def start_token(vocabulary: TextVocabulary) -> Token:
    """The token that a decoder reads first."""
    (start,) = vocabulary.tokens([vocabulary.symbols.start])
    return replace(start, span=None, role="start")


def fingerprint_of(files: Mapping[str, bytes]) -> str:
    """SHA-256 of the files of a vocabulary and their names, in hexadecimal."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
