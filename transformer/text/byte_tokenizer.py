"""GPT-2's vocabulary: byte-pair merges over the bytes of UTF-8, with the part of the text that each piece covers."""

from __future__ import annotations

import codecs
import hashlib
import heapq
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from transformer.text.added_tokens import AddedToken
from transformer.text.byte_vocabulary import ByteVocabulary, read_byte_vocabulary
from transformer.text.spelling import Spelling, spelt_in_part
from transformer.text.vocabulary import SPACE_MARK, Symbols, has_shape
from transformer.values.foreign_tokens import BYTES, SPELLING
from transformer.values.pieces import Piece

END_OF_TEXT = "<|endoftext|>"
# Splits that are remembered; words repeat.
CACHED = 10_000
# Half of a surrogate pair, which UTF-8 cannot spell.
SURROGATE = re.compile("[\ud800-\udfff]")
# Unicode's White_Space; Python's counts four control characters more.
WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)
WORD = re.compile(r"\w")
BLANKS = "".join(sorted(WHITE_SPACE))
CONTRACTION = re.compile("'(?:[sdmt]|ll|ve|re)")
# The rest of GPT-2's pattern, over a letter a character: L letter, N number, S the space, W other white space, O other.
UNIT = re.compile("S?L+|S?N+|S?O+|[SW]+(?![LNO])|[SW]+")



def _readable(spelt: str) -> str:
    """Spell a piece as `Piece.text` does: bytes that are no whole character, or one without a shape, are said as bytes.

    So is the character that looks like the mark of a space."""
    content = bytes(BYTES[character] for character in spelt).decode("utf-8", errors="surrogateescape")
    return "".join(
        SPACE_MARK if character == " " else
        character if has_shape(character) and character != SPACE_MARK else
        "".join(f"<0x{byte:02X}>" for byte in character.encode("utf-8", errors="surrogateescape"))
        for character in content
    )


class ByteTokenizer:
    """Byte-level byte-pair encoding (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
    section 2.2). If every byte is a piece, it can spell any text; a byte that is none is left out.

    Threads may share one.

    Args:
        files: those of `transformer.text.byte_vocabulary.FILES` that there are.
        rows: how many pieces the model has an embedding for, if fewer than there are: typed text does not become
            tokens that were added beyond them.
        start, end: ids or texts of the symbols that a text starts and ends with, the best first. Those that the
            vocabulary does not have, and those that are pieces of ordinary text, are passed over; the last resort is
            what the tokenizer's settings name, and then <|endoftext|>.

    Attributes:
        symbols: one may stand for all of them, as <|endoftext|> does in GPT-2; what is typed never becomes it.
        size: number of pieces V.
        texts: what each piece spells, V, as in `Piece`; the files write "Ġ" for a space.
        files: what it is made of, by name in a model folder.
        spelling: tells where pieces that are parts of a character may be written.

    Raises:
        ValueError: a file is missing, damaged or contradicts the other; the message names it.
    """

    def __init__(
        self, files: Mapping[str, bytes], *, rows: int | None = None, start: Sequence[object] = (),
        end: Sequence[object] = (),
    ) -> None:
        self.files: Mapping[str, bytes] = dict(files)
        found = read_byte_vocabulary(files)
        self._ids = found.ids
        self._added = {number: token for number, token in found.added.items() if rows is None or number < rows}
        self._prefix_space = found.prefix_space
        self._ranks = _ranks(found)
        self._spelt = self._spelled(found)
        self.texts = tuple(map(_readable, self._spelt))
        self.size = len(self._spelt)
        if rows is not None and rows < self.size:
            raise ValueError(
                f"{found.source} has {self.size:,} pieces, and vocab_size in config.json says {rows:,}; if pieces were "
                "added, resize the model's embedding and save it again"
            )
        first, last = self._symbol(start, found, "bos_token"), self._symbol(end, found, "eos_token")
        if first is None and last is None:
            raise ValueError(
                "nothing says with which symbol a text starts: bos_token_id and eos_token_id name none, and "
                f"{found.source} has no {END_OF_TEXT}"
            )
        first, last = (last if first is None else first), (first if last is None else last)
        assert first is not None and last is not None
        self.symbols = Symbols(pad=last, unknown=last, start=first, end=last)
        typed = {
            number: token for number, token in self._added.items() if not token.special and number not in (first, last)
        }
        # Those that are normalized are looked for in what the others have left.
        self._patterns = tuple(
            pattern for normalized in (False, True)
            if (pattern := _pattern([each for each in typed.values() if each.normalized is normalized]))
        )
        self._typed = {token.content: (number, token) for number, token in typed.items()}
        self._cut = lru_cache(CACHED)(self._merged)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all files, hexadecimal."""
        digest = hashlib.sha256()
        for name, content in self.files.items():
            digest.update(f"{name} {len(content)}\n".encode() + content)
        return digest.hexdigest()

    @property
    def spelling(self) -> Spelling:
        return self._spelling

    @cached_property
    def _spelling(self) -> Spelling:
        spelt = {number: self._bytes([number]) for number in range(self.size)}
        return Spelling({number: part for number, part in spelt.items() if spelt_in_part(part)})

    def encode(self, text: str, *, end: bool = False) -> tuple[Piece, ...]:
        """The pieces of a text, no symbol among them but the end after them if `end`.

        Their spans refer to `text`, spaces before a word left out; pieces with bytes of one character share its span.
        """
        pieces = []
        for number, start, after in self._parts(text):
            if number is None:
                pieces += self._pieces_of(text, start, after)
            else:
                pieces.append(Piece(number, self.texts[number], _span(text, start, after)))
        if end:
            pieces.append(self._end)
        return tuple(pieces)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of pieces: symbols left out, bytes joined, broken ones as U+FFFD."""
        return self._bytes(ids).decode("utf-8", errors="replace")

    def pieces(self, ids: Sequence[int]) -> tuple[Piece, ...]:
        """The pieces with these ids; their spans refer to `decode(ids)`."""
        text, owners = _decoded(self._bytes(ids))
        located, at = [], 0
        for number in ids:
            if number in (self.symbols.end, self.symbols.start):
                located.append(
                    self._end if number == self.symbols.end else Piece(number, self.texts[number], None, "start")
                )
                continue
            after = at + len(self._spelt[number])
            located.append(Piece(number, self.texts[number], _span(text, owners[at], owners[after - 1] + 1)))
            at = after
        return tuple(located)

    @property
    def _end(self) -> Piece:
        return Piece(self.symbols.end, self.texts[self.symbols.end], None, "end")

    def _bytes(self, ids: Sequence[int]) -> bytes:
        symbols = {self.symbols.start, self.symbols.end}
        return bytes(BYTES[character] for piece in ids if piece not in symbols for character in self._spelt[piece])

    def _spelled(self, found: ByteVocabulary) -> tuple[str, ...]:
        """How each piece is spelled, by id.

        Raises:
            ValueError: a piece spells no bytes, or the numbers have a gap.
        """
        texts = {number: _spelling_of(token.content) for number, token in self._added.items()}
        for text, number in found.ids.items():
            if number in found.added:
                continue
            if not text or any(character not in BYTES for character in text):
                raise ValueError(f"{found.source} has the piece {text!r}, which spells no bytes")
            texts[number] = text
        if sorted(texts) != list(range(len(texts))):
            raise ValueError(
                f"{found.source} does not number its {len(texts):,} pieces from 0 to {len(texts) - 1:,}, each once"
            )
        return tuple(texts[number] for number in range(len(texts)))

    def _symbol(self, candidates: Sequence[object], found: ByteVocabulary, name: str) -> int | None:
        """The id of a symbol, from candidates and what the vocabulary itself says; None if there is none."""
        added = {token.content: number for number, token in self._added.items()}
        ordinary = {first + second for first, second in self._ranks} | BYTES.keys()
        for candidate in (*candidates, found.symbols.get(name), END_OF_TEXT):
            number = candidate
            if isinstance(candidate, str):
                number = added.get(candidate, self._ids.get(candidate))
            if type(number) is int and 0 <= number < self.size and (
                number in self._added or self._spelt[number] not in ordinary
            ):
                return number
        return None

    def _parts(self, text: str) -> list[tuple[int | None, int, int]]:
        """Where each added token of a text begins and ends, with its id, and each part between them, with None."""
        parts: list[tuple[int | None, int, int]] = [(None, 0, len(text))]
        for pattern in self._patterns:
            parts = [
                finer for number, start, end in parts
                for finer in ([(number, start, end)] if number is not None else self._found(text, start, end, pattern))
            ]
        return parts

    def _found(
        self, text: str, start: int, end: int, pattern: re.Pattern[str]
    ) -> Iterator[tuple[int | None, int, int]]:
        at = start
        # A part is searched as if there were nothing around it.
        part = text[start:end]
        for match in pattern.finditer(part):
            number, token = self._typed[match[0]]
            first, after = match.span()
            if token.single_word and (WORD.match(part[first - 1 : first]) or WORD.match(part[after : after + 1])):
                continue
            if token.lstrip:
                first = max(at - start, len(part[:first].rstrip(BLANKS)))
            if token.rstrip:
                after = len(part) - len(part[after:].lstrip(BLANKS))
            if at < start + first:
                yield None, at, start + first
            at = start + after
            yield number, start + first, at
        if at < end:
            yield None, at, end

    def _pieces_of(self, text: str, start: int, end: int) -> list[Piece]:
        """The pieces of a part of a text that has no added token."""
        pieces: list[Piece] = []
        part = text[start:end]
        # The space that is put before a part covers nothing.
        before = " " if self._prefix_space and not part.startswith(" ") else ""
        for first, after_unit in units(before + part):
            # The character that each byte belongs to.
            owners, spelt = [], []
            for at in range(first, after_unit):
                character = part[at - len(before)] if at >= len(before) else " "
                encoded = [SPELLING[byte] for byte in SURROGATE.sub("\ufffd", character).encode("utf-8")]
                known = [byte for byte in encoded if byte in self._ids]
                owners += [start + at - len(before)] * len(known)
                spelt += known
            at = 0
            for piece in self._cut("".join(spelt)):
                after = at + len(piece)
                span = _span(text, max(owners[at], start), max(owners[after - 1] + 1, start))
                number = self._ids[piece]
                pieces.append(Piece(number, self.texts[number], span))
                at = after
        return pieces

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


def _ranks(found: ByteVocabulary) -> dict[tuple[str, str], int]:
    """The rank of each merge, the first is 0.

    Raises:
        ValueError: a merge has a piece that is none.
    """
    ranks: dict[tuple[str, str], int] = {}
    for first, second, place in found.merges:
        if unknown := [piece for piece in (first, second, first + second) if piece not in found.ids]:
            raise ValueError(f"{place} has the piece {unknown[0]!r}, which {found.source} has not")
        ranks.setdefault((first, second), len(ranks))
    return ranks


def _spelling_of(content: str) -> str:
    return "".join(SPELLING[byte] for byte in SURROGATE.sub("\ufffd", content).encode("utf-8"))


def _pattern(tokens: Sequence[AddedToken]) -> re.Pattern[str] | None:
    """What finds one of some tokens, the longest of those that begin at a place; None if there is none."""
    contents = sorted((token.content for token in tokens), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, contents))) if contents else None


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
