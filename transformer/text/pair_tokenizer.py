"""The vocabulary of a Marian model: a sentencepiece model for each side, with shared or separate ids."""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import sentencepiece

from transformer.files.small_files import json_object, read_small
from transformer.text.spelling import Spelling
from transformer.text.vocabulary import BYTE, SPACE_MARK, Symbols, split_code, target_codes
from transformer.values.kinds import Kind
from transformer.values.pieces import Piece, Role

SOURCE, TARGET, IDS, TARGET_IDS = "source.spm", "target.spm", "vocab.json", "target_vocab.json"
SYMBOLS = "symbols.json"
# sentencepiece writes an unknown token so.
UNKNOWN_TEXT = " ⁇ "


class PairTokenizer:
    """A `Vocabulary` of two sentencepiece models. Threads may share one.

    A token gets its id by its text: sentencepiece's own ids have no meaning here. A character that the sentencepiece
    model of one side does not know can still have an id: that of a token of the other side with the same spelling.

    Args:
        files: source.spm, target.spm, vocab.json, symbols.json, and target_vocab.json if the target has its own ids.

    Attributes:
        symbols, size, source_size, texts, codes, files, spelling: as in `Vocabulary`.

    Raises:
        ValueError: a file is missing or does not have the expected content; the message names it.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files: Mapping[str, bytes] = dict(files)
        for name in (SOURCE, TARGET, IDS, SYMBOLS):
            if name not in files:
                raise ValueError(f"{name} is missing")
        symbols = read_symbols(files[SYMBOLS])
        source_ids = read_ids(files[IDS], IDS)
        target_ids = read_ids(files[TARGET_IDS], TARGET_IDS) if TARGET_IDS in files else source_ids
        for name, ids in ((IDS, source_ids), (TARGET_IDS if TARGET_IDS in files else IDS, target_ids)):
            if wrong := [piece for piece in _numbers(symbols).values() if piece >= len(ids)]:
                raise ValueError(f"{SYMBOLS} names token {wrong[0]}, but {name} has only 0 to {len(ids) - 1}")
        processors = [_processor(files[name], name) for name in (SOURCE, TARGET)]
        self.symbols = _with_start(symbols, processors, (source_ids, target_ids))
        self._source = _Side(processors[0], source_ids, self.symbols)
        self._target = _Side(processors[1], target_ids, self.symbols)
        self.source_size, self.size = len(source_ids), len(target_ids)
        self.texts = self._target.texts
        self.codes = self._source.codes
        spelt = {number: BYTE.fullmatch(text) for number, text in enumerate(self.texts)}
        self.spelling = Spelling({
            number: bytes([value]) for number, found in spelt.items() if found and (value := int(found[1], 16)) >= 0x80
        })

    @classmethod
    def load(cls, folder: Path) -> PairTokenizer:
        """Read the vocabulary of a model folder.

        Raises:
            ValueError: a file is missing or does not have the expected content.
        """
        names = (SOURCE, TARGET, IDS, TARGET_IDS, SYMBOLS)
        return cls({name: read_small(folder / name) for name in names if (folder / name).exists()})

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all files, hexadecimal."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()

    def encode_source(self, text: str) -> tuple[Piece, ...]:
        """The tokens of a source text, the end symbol last.

        If the text begins with one of `codes`, that is a separate token.
        """
        return (*self._source.encode(text), self._end)

    def encode(self, text: str, *, end: bool = True) -> tuple[Piece, ...]:
        """The tokens of a target text."""
        return (*self._target.encode(text), *[self._end] * end)

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        return [piece.id for piece in self.encode(text, end=end)]

    def pieces(self, ids: Sequence[int]) -> tuple[Piece, ...]:
        surfaces, spans = self._spelled(ids)
        whole = "".join(surfaces)
        before, length = len(whole) - len(whole.lstrip(" ")), len(whole.strip(" "))
        located = []
        for piece, span in zip(ids, spans, strict=True):
            if span is not None:
                span = (min(max(span[0] - before, 0), length), min(max(span[1] - before, 0), length))
            located.append(Piece(piece, self.texts[piece], span, self._target.role(piece)))
        return tuple(located)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._spelled(ids)[0]).strip(" ")

    def key_scores(self, kind: Kind) -> tuple[float, ...]:
        return self._target.scores if kind == "decoder" else self._source.scores

    @property
    def _end(self) -> Piece:
        return Piece(self.symbols.end, self.texts[self.symbols.end], None, "end")

    def _spelled(self, ids: Sequence[int]) -> tuple[list[str], list[tuple[int, int] | None]]:
        """The text that each target token adds, and the characters of it that it covers; None for special tokens."""
        surfaces: list[str] = []
        spans: list[tuple[int, int] | None] = []
        at = 0
        bytes_left = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for number, piece in enumerate(ids):
            role, text = self._target.role(piece), self.texts[piece]
            if byte := BYTE.fullmatch(text):
                last = number + 1 == len(ids) or not BYTE.fullmatch(self.texts[ids[number + 1]])
                surface = bytes_left.decode(bytes([int(byte[1], 16)]), final=last)
                if last:
                    bytes_left.reset()
                # The bytes before the last of a character share the span of the finished character.
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
    """One language's sentencepiece model, and the ids of its tokens.

    Attributes:
        texts: spellings by id.
        codes: language codes among them.
    """

    def __init__(
        self, processor: sentencepiece.SentencePieceProcessor, ids: Mapping[str, int], symbols: Symbols
    ) -> None:
        self._processor, self._ids, self._symbols = processor, ids, symbols
        texts = [""] * len(ids)
        for text, number in ids.items():
            texts[number] = text
        self.texts = tuple(texts)
        self.codes = target_codes(ids)
        self._codes = {code: ids[code] for code in self.codes}
        self._code_ids = frozenset(self._codes.values())

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """How common each token is, by id: a token that this side's model does not spell is the rarest."""
        scores = []
        for number, text in enumerate(self.texts):
            found = self._processor.piece_to_id(text)
            if self.role(number):
                scores.append(0.0)
            elif found == self._processor.unk_id() or self._processor.is_byte(found):
                scores.append(-math.inf)
            else:
                scores.append(self._processor.get_score(found))
        return tuple(scores)

    def role(self, piece: int) -> Role:
        return "language" if piece in self._code_ids else self._symbols.role(piece)

    def encode(self, text: str) -> list[Piece]:
        """The tokens of a text, without the end symbol; spans refer to `text`."""
        code, rest = split_code(text, self._codes)
        pieces = [Piece(self._ids[code], code, None, "language")] if code else []
        # sentencepiece cannot read half of a surrogate pair.
        rest = re.sub("[\ud800-\udfff]", "\ufffd", rest)
        plain, starts = self._processor.normalize(rest, with_offsets=True)
        spans = _spans([len(text) - len(rest) + start for start in starts])
        at = 0
        waiting = 0
        for spelt in self._processor.encode(rest, out_type=str):
            number = self._id(spelt)
            if (byte := BYTE.fullmatch(spelt)) and plain[at : at + len(spelt)] != spelt:
                # The first byte of a character says how many follow.
                waiting = waiting or _length(int(byte[1], 16))
                waiting -= 1
                first, after = at, at + 1
                at += waiting == 0
            else:
                first, after = at + len(spelt) - len(spelt.lstrip(SPACE_MARK)), at + len(spelt)
                at = after
            covered = spans[first:after]
            here = spans[first][0] if first < len(spans) else len(text)
            span = (covered[0][0], covered[-1][1]) if covered else (here, here)
            pieces.append(Piece(number, self.texts[number], span, self.role(number)))
        return pieces

    def _id(self, spelt: str) -> int:
        """The id of a token; typed text never becomes a symbol."""
        number = self._ids.get(spelt, self._symbols.unknown)
        return self._symbols.unknown if self.role(number) else number


def _processor(model: bytes, name: str) -> sentencepiece.SentencePieceProcessor:
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model or b"\0")
    except (RuntimeError, ValueError, TypeError) as error:
        raise ValueError(f"{name} is damaged, or is not a SentencePiece model") from error


def _with_start(
    symbols: Symbols, processors: Sequence[sentencepiece.SentencePieceProcessor], ids: Sequence[Mapping[str, int]]
) -> Symbols:
    """The symbols, with a flag that says whether the start symbol is also a token of ordinary text of either side."""
    if symbols.start in (symbols.pad, symbols.unknown, symbols.end):
        return symbols
    texts = {text for each in ids for text, number in each.items() if number == symbols.start}
    ordinary = any(
        (found := processor.piece_to_id(text)) != processor.unk_id() and not processor.is_control(found)
        for processor in processors for text in texts
    )
    return replace(symbols, start_is_text=ordinary)


def _spans(starts: Sequence[int]) -> list[tuple[int, int]]:
    """The characters of the text that each normalised character stands for.

    `starts` says where each begins, and where the text ends. Several characters that replace one begin at the same
    place, and share its span.
    """
    spans: list[tuple[int, int]] = []
    end = starts[-1] if starts else 0
    for number in range(len(starts) - 2, -1, -1):
        if starts[number + 1] > starts[number]:
            end = starts[number + 1]
        spans.append((starts[number], end))
    return spans[::-1]


def _length(byte: int) -> int:
    """Length of the UTF-8 sequence that a byte begins."""
    return 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4


def read_ids(content: bytes, name: str) -> dict[str, int]:
    """The contents of a vocabulary file: the id of every token by its text, 0 to V - 1.

    Raises:
        ValueError: the content is invalid.
    """
    ids = json_object(content, name)
    if not ids or any(type(number) is not int for number in ids.values()):
        raise ValueError(f"{name} is not a JSON object that gives every token a number")
    if sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{name} does not number its {len(ids):,} tokens from 0 to {len(ids) - 1:,}, each once")
    return ids


def read_symbols(content: bytes) -> Symbols:
    """Read a file of `write_symbols`.

    Raises:
        ValueError: the content is invalid.
    """
    values = json_object(content, SYMBOLS)
    if any(type(number) is not int or number < 0 for number in values.values()):
        raise ValueError(f"{SYMBOLS} is not a JSON object of token ids")
    if values.keys() != {"pad", "unknown", "start", "end"}:
        raise ValueError(f"{SYMBOLS} must have pad, unknown, start and end, but has {', '.join(values)}")
    return Symbols(**values)


def write_symbols(symbols: Symbols) -> bytes:
    return (json.dumps(_numbers(symbols)) + "\n").encode("ascii")


def _numbers(symbols: Symbols) -> dict[str, int]:
    return {"pad": symbols.pad, "unknown": symbols.unknown, "start": symbols.start, "end": symbols.end}
