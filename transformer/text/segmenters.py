"""Libraries that cut the texts of an imported model into tokens: sentencepiece and tokenizers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import sentencepiece
from tokenizers import Tokenizer

from transformer.text.vocabulary import BYTE, SPACE_MARK, inner_span

# Hugging Face's file of a whole tokenizer.
ONE_FILE = "tokenizer.json"


class Segmenter(Protocol):
    """Cuts texts into tokens."""

    def segment(self, text: str) -> Iterator[tuple[str, tuple[int, int]]]:
        """The spelling of each token of a text, and the characters that it covers."""
        ...

    def score(self, spelt: str) -> float:
        """How common a token is; -inf for one that it does not spell."""
        ...

    def spells(self, spelt: str) -> bool:
        """Whether a token may occur in an ordinary text."""
        ...


class WholeTokenizer:
    """A tokenizer.json of the library `tokenizers`, whose symbols are never found in a text.

    Attributes:
        ids: of the tokens by their spelling.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._tokenizer = Tokenizer.from_str(content.decode("utf-8"))
        except Exception as error:  # The library has no class of its own for errors.
            raise ValueError(f"{ONE_FILE} is damaged, or is not a tokenizer: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self.ids: dict[str, int] = self._tokenizer.get_vocab()
        self._added = {token.content for token in self._tokenizer.get_added_tokens_decoder().values()}

    def segment(self, text: str) -> Iterator[tuple[str, tuple[int, int]]]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        for spelt, offsets in zip(found.tokens, found.offsets, strict=True):
            yield spelt, inner_span(text, *offsets)

    def score(self, spelt: str) -> float:
        # Common tokens come first.
        return -float(self.ids[spelt])

    def spells(self, spelt: str) -> bool:
        return spelt not in self._added


class SentencepieceModel:
    """A sentencepiece model, from a file with a name."""

    def __init__(self, model: bytes, name: str) -> None:
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model or b"\0")
        except (RuntimeError, ValueError, TypeError) as error:
            raise ValueError(f"{name} is damaged, or is not a SentencePiece model") from error

    def score(self, spelt: str) -> float:
        found = self._processor.piece_to_id(spelt)
        if found == self._processor.unk_id() or self._processor.is_byte(found):
            return -math.inf
        return self._processor.get_score(found)

    def spells(self, spelt: str) -> bool:
        found = self._processor.piece_to_id(spelt)
        return found != self._processor.unk_id() and not self._processor.is_control(found)

    def segment(self, text: str) -> Iterator[tuple[str, tuple[int, int]]]:
        plain, starts = self._processor.normalize(text, with_offsets=True)
        spans = _spans(starts)
        at = 0
        waiting = 0
        for spelt in self._processor.encode(text, out_type=str):
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
            yield spelt, (covered[0][0], covered[-1][1]) if covered else (here, here)


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
