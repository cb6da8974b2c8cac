"""GPT-2's vocabulary: byte-pair merges over the bytes of UTF-8, with the part of the text that each piece covers."""

from __future__ import annotations

import codecs
import hashlib
import heapq
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from transformer.text.pair_tokenizer import IDS, read_ids
from transformer.text.vocabulary import Piece, Symbols

MERGES = "merges.txt"
END_OF_TEXT = "<|endoftext|>"
# Splits that are remembered; words repeat.
CACHED = 10_000
# Half of a surrogate pair, which UTF-8 cannot spell.
SURROGATE = re.compile("[\ud800-\udfff]")
# Unicode's White_Space; Python's counts four control characters more.
WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)
CONTRACTION = re.compile("'(?:[sdmt]|ll|ve|re)")
# The rest of GPT-2's pattern, over a letter a character: L letter, N number, S the space, W other white space, O other.
UNIT = re.compile("S?L+|S?N+|S?O+|[SW]+(?![LNO])|[SW]+")


def _spelling() -> dict[int, str]:
    """How the vocabulary's files write each byte: as the Latin-1 character if that is visible, or else as one of the
    characters from U+0100 on, so that no piece has white space in it."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(0x100 + at) for at, byte in enumerate(hidden)}


SPELLING = _spelling()
BYTES = {character: byte for byte, character in SPELLING.items()}


class ByteTokenizer:
    """Byte-level byte-pair encoding (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
    section 2.2). It can spell any text. Threads may share one.

    Args:
        files: vocab.json and merges.txt.

    Attributes:
        symbols: the piece <|endoftext|> stands for all of them; what is typed never becomes it.
        size: number of pieces V.
        texts: how the files spell each piece, V; "Ġ" is a space.
        files: what it is made of, by name in a model folder.

    Raises:
        ValueError: a file is missing, damaged or contradicts the other; the message names it.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        for name in (IDS, MERGES):
            if name not in files:
                raise ValueError(f"{name} is missing")
        self.files: Mapping[str, bytes] = dict(files)
        self._ids = read_ids(files[IDS], IDS)
        self.size = len(self._ids)
        if END_OF_TEXT not in self._ids:
            raise ValueError(f"{IDS} has no piece {END_OF_TEXT}")
        if missing := [byte for byte, spelt in SPELLING.items() if spelt not in self._ids]:
            raise ValueError(f"{IDS} has no piece for the byte {missing[0]:#04x}")
        texts = [""] * self.size
        for text, number in self._ids.items():
            if text != END_OF_TEXT and (not text or any(character not in BYTES for character in text)):
                raise ValueError(f"{IDS} has the piece {text!r}, which spells no bytes")
            texts[number] = text
        self.texts = tuple(texts)
        self._ranks = self._merges(files[MERGES])
        end = self._ids[END_OF_TEXT]
        self.symbols = Symbols(pad=end, unknown=end, start=end, end=end)
        self._cut = lru_cache(CACHED)(self._merged)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of both files, hexadecimal."""
        digest = hashlib.sha256()
        for name in (IDS, MERGES):
            digest.update(f"{name} {len(self.files[name])}\n".encode() + self.files[name])
        return digest.hexdigest()

    def encode(self, text: str, *, end: bool = False) -> tuple[Piece, ...]:
        """The pieces of a text, no symbol among them but the end after them if `end`.

        Their spans refer to `text`, spaces before a word left out; pieces with bytes of one character share its span.
        """
        pieces = []
        for start, after_unit in units(text):
            # The character that each byte belongs to.
            owners, spelt = [], []
            for at in range(start, after_unit):
                encoded = SURROGATE.sub("\ufffd", text[at]).encode("utf-8")
                owners += [at] * len(encoded)
                spelt += [SPELLING[byte] for byte in encoded]
            at = 0
            for piece in self._cut("".join(spelt)):
                after = at + len(piece)
                pieces.append(Piece(self._ids[piece], piece, _span(text, owners[at], owners[after - 1] + 1)))
                at = after
        if end:
            pieces.append(Piece(self.symbols.end, END_OF_TEXT, None, "end"))
        return tuple(pieces)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of pieces: symbols left out, bytes joined, broken ones as U+FFFD."""
        return self._bytes(ids).decode("utf-8", errors="replace")

    def pieces(self, ids: Sequence[int]) -> tuple[Piece, ...]:
        """The pieces with these ids; their spans refer to `decode(ids)`."""
        text, owners = _decoded(self._bytes(ids))
        located, at = [], 0
        for number in ids:
            if number == self.symbols.end:
                located.append(Piece(number, END_OF_TEXT, None, "end"))
                continue
            after = at + len(self.texts[number])
            located.append(Piece(number, self.texts[number], _span(text, owners[at], owners[after - 1] + 1)))
            at = after
        return tuple(located)

    def _bytes(self, ids: Sequence[int]) -> bytes:
        return bytes(BYTES[character] for piece in ids if piece != self.symbols.end for character in self.texts[piece])

    def _merges(self, content: bytes) -> dict[tuple[str, str], int]:
        """The rank of each merge, the first is 0."""
        try:
            lines = content.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            raise ValueError(f"{MERGES} is no text in UTF-8, or a damaged one") from None
        ranks: dict[tuple[str, str], int] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or (number == 1 and line.startswith("#version")):
                continue
            pair = line.rstrip("\r").split(" ")
            if len(pair) != 2:
                raise ValueError(f"line {number} of {MERGES} is not two pieces")
            if unknown := [piece for piece in (*pair, "".join(pair)) if piece not in self._ids]:
                raise ValueError(f"line {number} of {MERGES} has the piece {unknown[0]!r}, which {IDS} has not")
            ranks.setdefault((pair[0], pair[1]), len(ranks))
        return ranks

    def _merged(self, unit: str) -> tuple[str, ...]:
        """The pieces of a unit that is spelt byte by byte.

        Of all neighbours the pair of lowest rank is merged, the first of equals, until no pair has a rank.
        """
        pieces: list[str] = list(unit)
        before, after = list(range(-1, len(unit) - 1)), list(range(1, len(unit) + 1))
        waiting: list[tuple[int, int, str, str]] = []

        def propose(left: int) -> None:
            if left >= 0 and after[left] < len(pieces):
                pair = pieces[left], pieces[after[left]]
                if pair in self._ranks:
                    heapq.heappush(waiting, (self._ranks[pair], left, *pair))

        for left in range(len(pieces)):
            propose(left)
        while waiting:
            _, left, first, second = heapq.heappop(waiting)
            right = after[left]
            # A neighbour may have been merged since; a merged piece is empty.
            if pieces[left] != first or right >= len(pieces) or pieces[right] != second:
                continue
            pieces[left], pieces[right] = first + second, ""
            after[left] = after[right]
            if after[right] < len(pieces):
                before[after[right]] = left
            propose(before[left])
            propose(left)
        return tuple(piece for piece in pieces if piece)


def units(text: str) -> list[tuple[int, int]]:
    """Where each part of a text begins and ends that pieces may not cross: words, numbers, other characters with the
    space before them, contractions, white space (GPT-2's pattern)."""
    kinds = "".join(map(_kind, text))
    found, at = [], 0
    while at < len(text):
        unit = CONTRACTION.match(text, at) or UNIT.match(kinds, at)
        assert unit is not None
        found.append((at, unit.end()))
        at = unit.end()
    return found


def _kind(character: str) -> str:
    if character == " ":
        return "S"
    if character in WHITE_SPACE:
        return "W"
    major = unicodedata.category(character)[0]
    return major if major in "LN" else "O"


def _span(text: str, start: int, end: int) -> tuple[int, int]:
    """Characters [start, end) without the spaces around them."""
    while start < end and text[start] == " ":
        start += 1
    while end > start and text[end - 1] == " ":
        end -= 1
    return start, end


def _decoded(content: bytes) -> tuple[str, list[int]]:
    """The text of some bytes, broken ones as U+FFFD, and the character that each byte belongs to."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text, owners = "", []
    for number, byte in enumerate(content):
        more = decoder.decode(bytes([byte]), final=number + 1 == len(content))
        # A byte that does not continue a character ends the broken one before it.
        own = len(text) + (len(more) == 2 or (len(more) == 1 and bool(decoder.getstate()[0])))
        text += more
        owners.append(own)
    return text, owners
