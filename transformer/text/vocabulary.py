"""Common interface of all vocabularies, and functions for special tokens, language codes and token labels."""

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
# Spelling of a byte token, such as "<0xF0>".
BYTE = re.compile("<0x([0-9A-F]{2})>")
# Visible characters that replace white space in texts and token spellings.
VISIBLE_SPACE = "␣"
LINE_SIGNS = {"\n": "↵", "\t": "⇥"}
SIGNS = {SPACE_MARK: VISIBLE_SPACE} | {f"<0x{ord(each):02X}>": sign for each, sign in LINE_SIGNS.items()}
WHITE_SPACE = re.compile("|".join(SIGNS))
# Code that chooses a multilingual model's target language, such as ">>fra<<", at the beginning of a source text.
TARGET_CODE = re.compile(">>.+<<")
# Code at the beginning of a source text: "<<eng_Latn>>" for the source language, ">>deu_Latn<<" for the target.
ANY_CODE = re.compile(r"\s*(<<[^<>]+>>|>>[^<>]+<<)")


def label_parts(token: Token, text: str) -> tuple[str, str]:
    """Return the two parts of a token's label: the characters that the token covers, and the token's spelling.

    Only the spellings of unknown tokens and byte tokens hide the characters; for other tokens, the first part is "".
    White space is made visible, and a special token's role is added.

    Args:
        token: token of a text, or token of a vocabulary, which has no span.
        text: text that the token's span refers to.
    """
    if token.special:
        return "", token.text if token.role == "symbol" else f"{token.text} {token.role}"
    spelling = WHITE_SPACE.sub(lambda found: SIGNS[found[0]], token.text)
    if token.span is None or not (token.role == "unknown" or BYTE.search(spelling)):
        return "", spelling
    covered = text[slice(*token.span)]
    return covered if any(map(is_visible, covered)) else "", spelling


def inner_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Trim leading and trailing spaces from a span [start, end)."""
    while start < end and text[start] == " ":
        start += 1
    while end > start and text[end - 1] == " ":
        end -= 1
    return start, end


def is_visible(character: str) -> bool:
    """Whether a character is visible: neither white space nor a control character, format character or surrogate."""
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")


@dataclass(frozen=True)
class Symbols:
    """Ids of a vocabulary's special tokens.

    Attributes:
        pad: padding at the end of a batch's shorter rows.
        unknown: token for text that the vocabulary cannot encode.
        start: the decoder's first input token; equals `pad` in Marian models.
        end: token at the end of a text.
        start_is_text: whether the start symbol can also be ordinary text. If so, the symbol is special only as
            the decoder's first token.
    """

    pad: int
    unknown: int
    start: int
    end: int
    start_is_text: bool = False

    @property
    def never_predicted(self) -> frozenset[int]:
        """Special tokens that are never predicted in training: padding and the start symbol.

        Their predicted probabilities are meaningless, and predicted padding would look like the end of the text. The
        end symbol is never included, even if one token serves as all special tokens, as in GPT-2.
        """
        return frozenset({self.pad, *(() if self.start_is_text else (self.start,))} - {self.end})

    def role(self, token: int) -> Role:
        """Return the role of a token id, or "" for ordinary text. Do not call this for the decoder's first input."""
        roles: dict[int, Role] = {self.unknown: "unknown", self.pad: "padding", self.start: "start", self.end: "end"}
        return "" if self.start_is_text and token == self.start else roles.get(token, "")


# Special tokens of the vocabularies made by `transformer.training`.
OWN_SYMBOLS = Symbols(pad=0, unknown=1, start=2, end=3)


def target_codes(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the target language codes, such as ">>fra<<", among a vocabulary's tokens, in sorted order."""
    return tuple(sorted(text for text in texts if TARGET_CODE.fullmatch(text)))


def split_code(text: str, codes: Collection[str]) -> tuple[str, str]:
    """Split a text into its language codes ("" if none) and the rest; source and target have at most one code each."""
    codes_of_sides: dict[str, str] = {}
    at = 0
    while (code := ANY_CODE.match(text, at)) and code[1] in codes and code[1][0] not in codes_of_sides:
        codes_of_sides[code[1][0]], at = code[1], code.end()
    return " ".join(codes_of_sides[side] for side in sorted(codes_of_sides)), text[at:]


def with_code(text: str, code: str, codes: Collection[str]) -> str:
    """Add language codes to a text; codes that are already in the text take precedence."""
    codes_of_text, rest = split_code(text, codes)
    both = {each[0]: each for each in (*code.split(), *codes_of_text.split())}
    merged = " ".join(both[side] for side in sorted(both))
    return text if merged == codes_of_text else f"{merged} {rest.lstrip()}"


class TextVocabulary(Protocol):
    """Converts a decoder's texts to tokens and back. Thread-safe.

    Attributes:
        symbols: ids of the special tokens.
        size: number of tokens V in the vocabulary.
        texts: spelling of each token, as in `Token.text`; length V.
        files: contents of the vocabulary's files, by name in a model folder.
        fingerprint: digest that changes whenever any part of the vocabulary changes.
        spelling: `Spelling` that prevents incomplete characters in generated text.
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
        """Tokenize a text, and append the end symbol if `end` is True; spans refer to `text` as typed."""
        ...

    def tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Return the `Token` objects for token ids, with spans that refer to `decode(ids)`."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Convert token ids to text: special tokens are dropped, and invalid bytes become U+FFFD."""
        ...


class Vocabulary(TextVocabulary, Protocol):
    """A translator's vocabulary. The members inherited from `TextVocabulary` refer to the target.

    Attributes:
        source_size: number of tokens in the source vocabulary, which may also be the target vocabulary.
        codes: codes with which a source text can choose the target language (">>fra<<") or the source language
            ("<<eng>>"); empty if there is no choice.
    """

    source_size: int
    codes: tuple[str, ...]

    def encode_source(self, text: str) -> tuple[Token, ...]:
        """Tokenize a source text, and add the end symbol and any language tokens; spans refer to `text` as typed."""
        ...

    def begin(self, text: str) -> tuple[int, ...]:
        """Return the ids of the special tokens that the translation of a source text must begin with."""
        ...

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        """Return a target text's token ids, with the end symbol unless `end` is False."""
        ...

    def key_scores(self, kind: Kind) -> Sequence[float]:
        """Return the frequency scores of all tokens, by id; rarer tokens have lower scores.

        The tokens are those of the source or target vocabulary, whichever contains the keys of attention `kind`.
        """
        ...


def start_token(vocabulary: TextVocabulary) -> Token:
    """Return the decoder's first input token."""
    (start,) = vocabulary.tokens([vocabulary.symbols.start])
    return replace(start, span=None, role="start")


def fingerprint_of(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of a vocabulary's files and their names, in hexadecimal."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
