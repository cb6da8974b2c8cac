"""Vocabulary of an imported translator: two sentencepiece models with vocab.json, or one tokenizer.json."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from transformer.files.small_files import MAX_FILE_BYTES, json_object, read_small
from transformer.text.affixes import SYMBOLS, Affixes, read_affixes
from transformer.text.segmenters import ONE_FILE, Segmenter, SentencepieceModel, WholeTokenizer
from transformer.text.spelling import Spelling
from transformer.text.vocabulary import BYTE, SPACE_MARK, Symbols, fingerprint_of, split_code, target_codes
from transformer.values.kinds import Kind
from transformer.values.tokens import Role, Token

SOURCE, TARGET, IDS, TARGET_IDS = "source.spm", "target.spm", "vocab.json", "target_vocab.json"
# Text that sentencepiece decodes an unknown token to.
UNKNOWN_TEXT = " ⁇ "


class PairTokenizer:
    """`Vocabulary` built from two sentencepiece models, or from one tokenizer.json for source and target. Thread-safe.

    With sentencepiece models, vocab.json gives each token's id; the models' own ids are ignored. A character that one
    model lacks may still have an id, because the other model may contain the character as a token.

    Args:
        files: file contents by name: symbols.json, and either tokenizer.json, or source.spm, target.spm, vocab.json
            and, if the target has separate ids, target_vocab.json.

    Attributes:
        symbols, size, source_size, texts, codes, files, spelling: as in `Vocabulary`.

    Raises:
        ValueError: a file is missing or invalid; the message names the file.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files: Mapping[str, bytes] = dict(files)
        for name in (SYMBOLS, *(() if ONE_FILE in files else (SOURCE, TARGET, IDS))):
            if name not in files:
                raise ValueError(f"{name} is missing")
        self._affixes = affixes = read_affixes(files[SYMBOLS])
        if ONE_FILE in files:
            whole = WholeTokenizer(files[ONE_FILE])
            segmenters: Sequence[Segmenter] = (whole, whole)
            source_ids = target_ids = _tokens_by_id(whole.ids, ONE_FILE)
        else:
            segmenters = tuple(SentencepieceModel(files[name], name) for name in (SOURCE, TARGET))
            source_ids = read_ids(files[IDS], IDS)
            target_ids = read_ids(files[TARGET_IDS], TARGET_IDS) if TARGET_IDS in files else source_ids
        affixes.check(len(source_ids), ONE_FILE if ONE_FILE in files else IDS)
        affixes.check(len(target_ids), TARGET_IDS)
        self.symbols = _with_start(affixes.symbols, segmenters, (source_ids, target_ids))
        self._source = _Side(segmenters[0], source_ids, self.symbols, affixes)
        self._target = _Side(segmenters[1], target_ids, self.symbols, affixes)
        self.source_size, self.size = len(source_ids), len(target_ids)
        self.texts = self._target.texts
        self.codes = affixes.codes or tuple(self._source.codes)
        byte_matches = {number: BYTE.fullmatch(text) for number, text in enumerate(self.texts)}
        self.spelling = Spelling(
            {
                number: bytes([value])
                for number, found in byte_matches.items()
                if found and (value := int(found[1], 16)) >= 0x80
            }
        )

    @classmethod
    def load(cls, folder: Path) -> PairTokenizer:
        """Load the vocabulary from a model folder.

        Raises:
            ValueError: a file is missing or invalid.
        """
        names = (SOURCE, TARGET, IDS, TARGET_IDS, ONE_FILE, SYMBOLS)
        return cls({name: read_small(folder / name, 2 * MAX_FILE_BYTES) for name in names if (folder / name).exists()})

    @property
    def fingerprint(self) -> str:
        """SHA-256 hash of all files and their names, in hexadecimal."""
        return fingerprint_of(self.files)

    def encode_source(self, text: str) -> tuple[Token, ...]:
        """Tokenize a source text, and add the end symbol and any language tokens.

        Language codes at the beginning of the text (see `codes`) select the languages, and are not tokenized as text.
        """
        before, after = (map(self._source.token, ids) for ids in self._affixes.around(text))
        return (*before, *self._source.encode(text, self.codes), self._end, *after)

    def begin(self, text: str) -> tuple[int, ...]:
        return self._affixes.begin(text)

    def encode(self, text: str, *, end: bool = True) -> tuple[Token, ...]:
        """Tokenize a target text, and append the end symbol if `end` is True."""
        return (*self._target.encode(text, self._target.codes), *[self._end] * end)

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        return [token.id for token in self.encode(text, end=end)]

    def tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        surfaces, spans = self._spelled(ids)
        whole = "".join(surfaces)
        before, length = len(whole) - len(whole.lstrip(" ")), len(whole.strip(" "))
        located = []
        for token, span in zip(ids, spans, strict=True):
            if span is not None:
                span = (min(max(span[0] - before, 0), length), min(max(span[1] - before, 0), length))
            located.append(Token(token, self.texts[token], span, self._target.role(token)))
        return tuple(located)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._spelled(ids)[0]).strip(" ")

    def key_scores(self, kind: Kind) -> tuple[float, ...]:
        return self._target.scores if kind == "decoder" else self._source.scores

    @property
    def _end(self) -> Token:
        return Token(self.symbols.end, self.texts[self.symbols.end], None, "end")

    def _spelled(self, ids: Sequence[int]) -> tuple[list[str], list[tuple[int, int] | None]]:
        """Return each target token's text, and its span in the joined text; the span is None for special tokens."""
        surfaces: list[str] = []
        spans: list[tuple[int, int] | None] = []
        at = 0
        bytes_left = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for number, token in enumerate(ids):
            role, text = self._target.role(token), self.texts[token]
            if byte := BYTE.fullmatch(text):
                last = number + 1 == len(ids) or not BYTE.fullmatch(self.texts[ids[number + 1]])
                surface = bytes_left.decode(bytes([int(byte[1], 16)]), final=last)
                if last:
                    bytes_left.reset()
                # A byte that does not complete its character shares the span of the completed character.
                begin = at + max(len(surface) - 1, 0)
                span = (begin, begin + 1)
            elif role and role != "unknown":
                surface, span = "", None
            else:
                surface = UNKNOWN_TEXT if role else text.replace(SPACE_MARK, " ")
                begin = at + len(surface) - len(surface.lstrip(" "))
                span = (begin, max(begin, at + len(surface.rstrip(" "))))
            at += len(surface)
            surfaces.append(surface)
            spans.append(span)
        return surfaces, spans


class _Side:
    """Source or target side of the vocabulary. Splits texts into tokens with ids.

    Attributes:
        texts: token spellings, by id.
        codes: maps each language code that is a token to the token's id.
    """

    def __init__(self, segmenter: Segmenter, ids: Mapping[str, int], symbols: Symbols, affixes: Affixes) -> None:
        self._segmenter, self._ids, self._symbols = segmenter, ids, symbols
        texts = [""] * len(ids)
        for text, number in ids.items():
            texts[number] = text
        self.texts = tuple(texts)
        self._roles: dict[int, Role] = dict.fromkeys((*affixes.before, *affixes.first), "symbol")
        self.codes = {} if affixes.languages else {code: ids[code] for code in target_codes(ids)}
        self._roles |= dict.fromkeys((*affixes.languages.values(), *self.codes.values()), "language")

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """Frequency score of each token, by id: 0 for special tokens, and the segmenter's score for all others."""
        return tuple(
            0.0 if self.role(number) else self._segmenter.score(text) for number, text in enumerate(self.texts)
        )

    def role(self, token: int) -> Role:
        # Roles in `symbols` take precedence: an end symbol that also begins every translation is still the end symbol.
        return self._symbols.role(token) or self._roles.get(token, "")

    def token(self, number: int) -> Token:
        """Return the special token with this id, as a `Token` without a span."""
        return Token(number, self.texts[number], None, self.role(number))

    def encode(self, text: str, codes: Collection[str]) -> list[Token]:
        """Tokenize a text, without the end symbol; spans refer to `text`.

        A language code at the beginning of the text is encoded as a language token; a code without a token is dropped.
        """
        code, rest = split_code(text, codes)
        tokens = [self.token(self.codes[code])] if code in self.codes else []
        begin = len(text) - len(rest)
        # The tokenizer libraries reject unpaired surrogates.
        rest = re.sub("[\ud800-\udfff]", "\ufffd", rest)
        for spelling, (start, end) in self._segmenter.segment(rest):
            number = self._id(spelling)
            tokens.append(Token(number, self.texts[number], (begin + start, begin + end), self.role(number)))
        return tokens

    def _id(self, spelling: str) -> int:
        """Look up a token's id by its text. Text that spells a special token becomes the unknown token."""
        number = self._ids.get(spelling, self._symbols.unknown)
        return self._symbols.unknown if self.role(number) else number


def _with_start(symbols: Symbols, segmenters: Sequence[Segmenter], ids: Sequence[Mapping[str, int]]) -> Symbols:
    """Return the symbols, with `start_is_text` set if the start symbol can also be ordinary source or target text."""
    if symbols.start in (symbols.pad, symbols.unknown, symbols.end):
        return symbols
    texts = {text for each in ids for text, number in each.items() if number == symbols.start}
    return replace(symbols, start_is_text=any(segmenter.spells(text) for segmenter in segmenters for text in texts))


def read_ids(content: bytes, name: str) -> dict[str, int]:
    """Parse a vocab.json file, which maps each token's text to its id, 0 to V - 1.

    Args:
        content: content of the file.
        name: file name, for error messages.

    Raises:
        ValueError: the content is invalid.
    """
    ids = json_object(content, name)
    if not ids or any(type(number) is not int for number in ids.values()):
        raise ValueError(f"{name} is not a JSON object with an id for every token")
    return _tokens_by_id(ids, name)


def _tokens_by_id(ids: dict[str, int], name: str) -> dict[str, int]:
    if sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(
            f"{name} must give its {len(ids):,} tokens the ids 0 to {len(ids) - 1:,}, without gaps or repetitions"
        )
    return ids
