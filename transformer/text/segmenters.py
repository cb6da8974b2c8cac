"""Common interface to the libraries `sentencepiece` and `tokenizers`, which tokenize texts for imported models."""

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import sentencepiece
from tokenizers import Tokenizer

from transformer.text.vocabulary import BYTE, SPACE_MARK, inner_span

# File in which Hugging Face stores a complete tokenizer.
ONE_FILE = "tokenizer.json"


class Segmenter(Protocol):
    """Interface of objects that split texts into tokens."""

    def segment(self, text: str) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield each token's spelling, and its character span [start, end) in the text."""
        ...

    def score(self, spelling: str) -> float:
        """Return a token's frequency score, which is lower for rarer tokens.

        A sentencepiece model returns -inf for byte tokens, and for tokens that it does not contain.
        """
        ...

    def spells(self, spelling: str) -> bool:
        """Whether a token can occur in ordinary text."""
        ...


class WholeTokenizer:
    """Tokenizer from a tokenizer.json file, run by the `tokenizers` library. Typed text never becomes a special token.

    Args:
        content: content of tokenizer.json.

    Attributes:
        ids: token ids, by token spelling.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._tokenizer = Tokenizer.from_str(content.decode("utf-8"))
        except Exception as error:  # The library raises plain Exception.
            raise ValueError(f"{ONE_FILE} is damaged, or is not a tokenizer: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self.ids: dict[str, int] = self._tokenizer.get_vocab()
        self._added = {token.content for token in self._tokenizer.get_added_tokens_decoder().values()}

    def segment(self, text: str) -> Iterator[tuple[str, tuple[int, int]]]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        for spelling, offsets in zip(encoding.tokens, encoding.offsets, strict=True):
            yield spelling, inner_span(text, *offsets)

    def score(self, spelling: str) -> float:
        # More frequent tokens usually have lower ids.
        return -float(self.ids[spelling])

    def spells(self, spelling: str) -> bool:
        return spelling not in self._added


class SentencepieceModel:
    """Segmenter that uses a sentencepiece model.

    Args:
        model: serialised model.
        name: file name, for error messages.
    """

    def __init__(self, model: bytes, name: str) -> None:
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model or b"\0")
        except (RuntimeError, ValueError, TypeError) as error:
            raise ValueError(f"{name} is damaged, or is not a SentencePiece model") from error

    def score(self, spelling: str) -> float:
        token_id = self._processor.piece_to_id(spelling)
        if token_id == self._processor.unk_id() or self._processor.is_byte(token_id):
            return -math.inf
        return self._processor.get_score(token_id)

    def spells(self, spelling: str) -> bool:
        token_id = self._processor.piece_to_id(spelling)
        return token_id != self._processor.unk_id() and not self._processor.is_control(token_id)

    def segment(self, text: str) -> Iterator[tuple[str, tuple[int, int]]]:
        plain, starts = self._processor.normalize(text, with_offsets=True)
        spans = _spans(starts)
        at = 0
        waiting = 0
        for spelling in self._processor.encode(text, out_type=str):
            if (byte := BYTE.fullmatch(spelling)) and plain[at : at + len(spelling)] != spelling:
                # A character's first byte determines how many bytes follow.
                waiting = waiting or _length(int(byte[1], 16))
                waiting -= 1
                first, after = at, at + 1
                at += waiting == 0
            else:
                first, after = at + len(spelling) - len(spelling.lstrip(SPACE_MARK)), at + len(spelling)
                at = after
            covered = spans[first:after]
            here = spans[first][0] if first < len(spans) else len(text)
            yield spelling, (covered[0][0], covered[-1][1]) if covered else (here, here)


def _spans(starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return, for each normalised character, the span of the original text that the character came from.

    Args:
        starts: index in the original text at which each normalised character begins, followed by the text's length. If
            one original character became several, they begin at the same index and share a span.
    """
    spans: list[tuple[int, int]] = []
    end = starts[-1] if starts else 0
    for number in range(len(starts) - 2, -1, -1):
        if starts[number + 1] > starts[number]:
            end = starts[number + 1]
        spans.append((starts[number], end))
    return spans[::-1]


def _length(byte: int) -> int:
    return 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
