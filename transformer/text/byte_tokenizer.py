"""Byte-level BPE tokenizer of GPT-2 and BART, which also reports each token's character span in the text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

from tokenizers import AddedToken, Encoding, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from transformer.files.small_files import MAX_FILE_BYTES, read_small
from transformer.text.affixes import SYMBOLS, read_affixes
from transformer.text.byte_vocabulary import FILES, ByteVocabulary, read_byte_vocabulary
from transformer.text.spelling import Spelling, has_partial_character
from transformer.text.vocabulary import SPACE_MARK, Symbols, fingerprint_of, inner_span, is_visible
from transformer.values.foreign_tokens import BYTES, SPELLING
from transformer.values.kinds import Kind
from transformer.values.tokens import Role, Token

END_OF_TEXT = "<|endoftext|>"
# Unpaired surrogate, which UTF-8 cannot encode.
SURROGATE = re.compile("[\ud800-\udfff]")


def _visible_spelling(spelling: str) -> str:
    """Convert a byte-level BPE token to the spelling used in `Token.text`.

    A space becomes "▁". Incomplete characters, invisible characters and a literal "▁" become bytes such as "<0xF0>".
    """
    content = bytes(BYTES[character] for character in spelling).decode("utf-8", errors="surrogateescape")
    return "".join(
        SPACE_MARK
        if character == " "
        else character
        if is_visible(character) and character != SPACE_MARK
        else "".join(f"<0x{byte:02X}>" for byte in character.encode("utf-8", errors="surrogateescape"))
        for character in content
    )


class ByteTokenizer:
    """Byte-level byte-pair encoding (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners").

    Any text can be encoded if every byte is a token (section 2.2); bytes that are not tokens are dropped. With
    symbols.json, the tokenizer implements `Vocabulary` for a translator such as BART. Thread-safe.

    Args:
        files: file contents by name: the files that exist among `transformer.text.byte_vocabulary.FILES`, and
            symbols.json if it exists.
        rows: number of embedding rows in the model. Typed text is never encoded as an added token that has no row.
        start, end: candidate ids or texts for the start symbol and the end symbol, best first. Candidates that are
            missing from the vocabulary or are ordinary text are skipped. If none is left, the symbol in the tokenizer's
            settings is used, or else <|endoftext|>.

    Attributes:
        source_size, codes: as in `Vocabulary`; `codes` is empty, because source texts cannot choose a language.
        symbols: ids of the special tokens. One token may serve as all of them, like <|endoftext|> in GPT-2. Typed text
            never becomes a special token.
        size: number of tokens V in the vocabulary.
        texts: spelling of each token, as in `Token.text`; length V.
        files: contents of the tokenizer's files, by name in a model folder.
        spelling: `Spelling` that prevents incomplete characters in generated text.

    Raises:
        ValueError: a file is missing or damaged, or contradicts another file; the message names the file.
    """

    codes: tuple[str, ...] = ()

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        rows: int | None = None,
        start: Sequence[object] = (),
        end: Sequence[object] = (),
    ) -> None:
        self.files: Mapping[str, bytes] = dict(files)
        vocabulary = read_byte_vocabulary(files)
        self._ids = vocabulary.ids
        self._added = {number: token for number, token in vocabulary.added.items() if rows is None or number < rows}
        self._prefix_space = vocabulary.prefix_space
        merges = _merges(vocabulary)
        self._spelt = self._spelled(vocabulary)
        self.texts = tuple(map(_visible_spelling, self._spelt))
        self.size = len(self._spelt)
        if rows is not None and rows < self.size:
            raise ValueError(
                f"{vocabulary.source} has {self.size:,} tokens, but vocab_size in config.json is {rows:,}; if tokens "
                "were added, resize the model's embedding and save the model again"
            )
        ordinary = {first + second for first, second in merges} | BYTES.keys()
        if SYMBOLS in files:
            self._affixes = read_affixes(files[SYMBOLS])
            self._affixes.check(self.size, vocabulary.source)
            start, end = [self._affixes.start], [self._affixes.end]
        first = self._symbol((*start, vocabulary.symbols.get("bos_token"), END_OF_TEXT), ordinary)
        last = self._symbol((*end, vocabulary.symbols.get("eos_token"), END_OF_TEXT), ordinary)
        if first is None and last is None:
            raise ValueError(
                f"the start symbol is unknown: neither bos_token_id nor eos_token_id names a special token, and "
                f"{vocabulary.source} has no {END_OF_TEXT}"
            )
        first, last = (last if first is None else first), (first if last is None else last)
        assert first is not None and last is not None
        self.symbols = Symbols(pad=last, unknown=last, start=first, end=last)
        self._roles: dict[int, Role] = {first: "start", last: "end"}
        if SYMBOLS in files:
            self.symbols, self.source_size = self._affixes.symbols, self.size
            self._roles.setdefault(self.symbols.pad, "padding")
            for number in (*self._affixes.before, *self._affixes.first):
                self._roles.setdefault(number, "symbol")
        typed = {
            token.content: number
            for number, token in self._added.items()
            if not token.special and number not in (first, last)
        }
        # As in `transformers`, bytes that are not tokens are dropped before merging.
        self._known = {byte for character, byte in BYTES.items() if character in vocabulary.ids}
        self._cutter = Tokenizer(BPE(vocab={**typed, **vocabulary.ids}, merges=merges))
        self._cutter.pre_tokenizer = ByteLevel(add_prefix_space=vocabulary.prefix_space)
        self._cutter.add_tokens([AddedToken(**vars(self._added[number])) for number in typed.values()])

    @classmethod
    def load(cls, folder: Path) -> ByteTokenizer:
        """Load the tokenizer from a translator's model folder.

        Raises:
            ValueError: a file is missing or does not have the expected content.
        """
        names = [name for name in (*FILES, SYMBOLS) if (folder / name).exists()]
        return cls({name: read_small(folder / name, 2 * MAX_FILE_BYTES) for name in names})

    @property
    def fingerprint(self) -> str:
        """SHA-256 hash of all files and their names, in hexadecimal."""
        return fingerprint_of(self.files)

    @property
    def spelling(self) -> Spelling:
        return self._spelling

    @cached_property
    def _spelling(self) -> Spelling:
        bytes_by_id = {number: self._bytes([number]) for number in range(self.size)}
        return Spelling({number: part for number, part in bytes_by_id.items() if has_partial_character(part)})

    def encode(self, text: str, *, end: bool = False) -> tuple[Token, ...]:
        """Tokenize a text, and append the end symbol if `end` is True.

        Spans refer to `text` and exclude the spaces before a word. Tokens that encode bytes of one character share the
        character's span.
        """
        readable = SURROGATE.sub("\ufffd", text)
        encoding = self._cutter.encode(readable)
        tokens = []
        offsets = encoding.offsets if len(self._known) == len(BYTES) else self._offsets(readable, encoding)
        for number, (start, after) in zip(encoding.ids, offsets, strict=True):
            # A space that the tokenizer inserted covers no character of the text.
            put = self._spelt[number] == SPELLING[ord(" ")] and text[start] != " "
            tokens.append(Token(number, self.texts[number], inner_span(text, start, start if put else after)))
        if end:
            tokens.append(self._symbol_token(self.symbols.end))
        return tuple(tokens)

    def encode_source(self, text: str) -> tuple[Token, ...]:
        """Tokenize a source text, and add the special tokens before and after it."""
        return (*map(self._symbol_token, self._affixes.around(text)[0]), *self.encode(text, end=True))

    def begin(self, text: str) -> tuple[int, ...]:
        """Return the ids that every translation must begin with."""
        return self._affixes.begin(text)

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        """Return the token ids of a target text."""
        return [token.id for token in self.encode(text, end=end)]

    def key_scores(self, kind: Kind) -> tuple[float, ...]:
        """Return frequency scores: the negated token ids, because frequent merges come first; 0 for special tokens."""
        return tuple(0.0 if number in self._roles else -float(number) for number in range(self.size))

    def _offsets(self, text: str, encoding: Encoding) -> list[tuple[int, int]]:
        """Return each token's character span [start, end), for a vocabulary that lacks some bytes.

        The tokenizers library drops bytes that are not tokens, so the spans it returns are wrong after such a byte.
        """
        offsets: list[tuple[int, int]] = []
        word, owners = None, iter(())
        for number, (start, after), own in zip(encoding.ids, encoding.offsets, encoding.word_ids, strict=True):
            if number in self._added:
                offsets.append((start, after))
                continue
            token_bytes = self._spelt[number]
            if own != word:
                word = own
                owners = (
                    index for index in range(start, len(text)) for byte in text[index].encode() if byte in self._known
                )
                if token_bytes[0] == SPELLING[ord(" ")] and text[start] != " ":
                    token_bytes = token_bytes[1:]
            covered = list(islice(owners, len(token_bytes))) or [start]
            offsets.append((covered[0], covered[-1] + 1))
        return offsets

    def decode(self, ids: Sequence[int]) -> str:
        """Convert token ids to text: special tokens are dropped, and invalid bytes become U+FFFD."""
        return self._bytes(ids).decode("utf-8", errors="replace")

    def tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Return the `Token` objects for token ids, with spans that refer to `decode(ids)`."""
        text, owners = _decoded(self._bytes(ids))
        located, at = [], 0
        for number in ids:
            if number in self._roles:
                located.append(self._symbol_token(number))
                continue
            after = at + len(self._spelt[number])
            located.append(Token(number, self.texts[number], inner_span(text, owners[at], owners[after - 1] + 1)))
            at = after
        return tuple(located)

    def _symbol_token(self, number: int) -> Token:
        return Token(number, self.texts[number], None, self._roles[number])

    def _bytes(self, ids: Sequence[int]) -> bytes:
        return bytes(BYTES[character] for token in ids if token not in self._roles for character in self._spelt[token])

    def _spelled(self, vocabulary: ByteVocabulary) -> tuple[str, ...]:
        """Return each token's byte-level spelling, by id.

        Raises:
            ValueError: a token has a character that does not encode a byte, or an id is missing.
        """
        texts = {number: _spelling_of(token.content) for number, token in self._added.items()}
        for text, number in vocabulary.ids.items():
            if number in vocabulary.added:
                continue
            if not text or any(character not in BYTES for character in text):
                raise ValueError(f"{vocabulary.source} has the token {text!r}, which is not a byte-level spelling")
            texts[number] = text
        if sorted(texts) != list(range(len(texts))):
            raise ValueError(
                f"{vocabulary.source} must give its {len(texts):,} tokens the ids 0 to {len(texts) - 1:,}, without "
                "gaps or repetitions"
            )
        return tuple(texts[number] for number in range(len(texts)))

    def _symbol(self, candidates: Sequence[object], ordinary: Collection[str]) -> int | None:
        """Return the id of the first candidate that can serve as a special token; None if there is none.

        Args:
            candidates: ids or texts of tokens.
            ordinary: tokens of ordinary text, which cannot be special tokens.
        """
        added = {token.content: number for number, token in self._added.items()}
        for candidate in candidates:
            number = candidate
            if isinstance(candidate, str):
                number = added.get(candidate, self._ids.get(candidate))
            if (
                type(number) is int
                and 0 <= number < self.size
                and (number in self._added or self._spelt[number] not in ordinary)
            ):
                return number
        return None


def _merges(vocabulary: ByteVocabulary) -> list[tuple[str, str]]:
    """Return the merges as pairs of tokens, in order of priority and without duplicates.

    Raises:
        ValueError: a merge contains or produces an unknown token.
    """
    for first, second, place in vocabulary.merges:
        if unknown := [token for token in (first, second, first + second) if token not in vocabulary.ids]:
            raise ValueError(f"{place} needs the token {unknown[0]!r}, which is not in {vocabulary.source}")
    return list(dict.fromkeys((first, second) for first, second, _ in vocabulary.merges))


def _spelling_of(content: str) -> str:
    return "".join(SPELLING[byte] for byte in SURROGATE.sub("\ufffd", content).encode("utf-8"))


def _decoded(content: bytes) -> tuple[str, list[int]]:
    """Decode UTF-8, with U+FFFD for invalid bytes. Return the text and, for each byte, the index of its character."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text, owners = "", []
    for number, byte in enumerate(content):
        more = decoder.decode(bytes([byte]), final=number + 1 == len(content))
        # A byte that does not continue an unfinished character makes that character invalid and begins another one.
        character = len(text) + (len(more) == 2 or (len(more) == 1 and bool(decoder.getstate()[0])))
        text += more
        owners.append(character)
    return text, owners
