"""Text to pieces and back, with the part of the text that each piece covers."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from transformer.normalisation import normalise, normalise_with_spans

PAD, UNKNOWN, START, END = 0, 1, 2, 3
# Pieces that stand for no text.
CONTROLS = frozenset({PAD, START, END})

SPACE_MARK = "▁"
# Exponent on the probability of a split when one is drawn: 1 is the unigram model's own, 0 takes all as likely.
SMOOTHNESS = 0.3
# Letters of both languages that must be pieces even if a small corpus lacks them.
REQUIRED = "".join(map(chr, range(0x21, 0x7F))) + "äöüÄÖÜßéèàçñ€–§°"


@dataclass(frozen=True)
class Piece:
    """One entry of the vocabulary at one place of a text.

    Attributes:
        id: in the vocabulary.
        text: as the vocabulary spells it: "▁Hund" (▁ is the space before it), "<0xF0>" (one byte), "</s>".
        span: the characters [start, end) of the reader's text that it covers, spaces left out; None for special
            pieces. The bytes of one character share its span; a lone space mark covers nothing, start = end.
        special: a control piece: padding, start or end symbol.
    """

    id: int
    text: str
    span: tuple[int, int] | None
    special: bool


class Tokenizer:
    """A sentencepiece model. Threads may share one.

    Args:
        model: the serialised model.

    Attributes:
        size: number of pieces, V.
        texts: how the vocabulary spells each piece, V.
        scores: log-probability of each piece in the vocabulary's unigram model, nats, V; -inf for a byte, 0 for
            special pieces. What is rare in the texts that the vocabulary was made from has a low one.

    Raises:
        ValueError: it is none, or its special pieces have other ids than PAD, UNKNOWN, START and END.
    """

    def __init__(self, model: bytes) -> None:
        self.serialized = model
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            self.size: int = self._processor.get_piece_size()
        except (RuntimeError, ValueError, TypeError) as error:
            raise ValueError("the vocabulary is no sentencepiece model, or a damaged one") from error
        processor = self._processor
        ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if ids != (PAD, UNKNOWN, START, END):
            raise ValueError(
                f"the vocabulary numbers <pad>, <unk>, <s>, </s> as {ids} instead of {(PAD, UNKNOWN, START, END)}: "
                "train it with `python -m transformer.training prepare`"
            )
        everything = range(self.size)
        self.texts = tuple(processor.id_to_piece(everything))
        # Bytes have the score 0 of a certain event, and spell what no other piece can: nothing is rarer.
        self.scores = tuple(
            -math.inf if byte else score
            for score, byte in zip(processor.get_score(everything), processor.is_byte(everything), strict=True)
        )

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a model file.

        Raises:
            ValueError: it holds no sentencepiece model.
        """
        return cls(Path(path).read_bytes())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the model, hexadecimal."""
        return hashlib.sha256(self.serialized).hexdigest()

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        """Ids of the pieces of a text, with the end symbol unless `end` is False."""
        return self._processor.encode(normalise(text)) + [END] * end

    def sample_ids(self, text: str) -> list[int]:
        """As `encode_ids`, but split in one of the other possible ways, the likelier ones more often.

        Subword regularisation (Kudo 2018, "Subword Regularization", section 3.2), over all splits. About four texts in
        five are split in another way than by `encode_ids`, and the pieces are a fifth more.
        """
        ids = self._processor.encode(normalise(text), enable_sampling=True, nbest_size=-1, alpha=SMOOTHNESS)
        return ids + [END]

    def encode(self, text: str, *, end: bool = True) -> tuple[Piece, ...]:
        """The pieces of a text; their spans refer to `text` as it was typed."""
        plain, spans = normalise_with_spans(text)
        ids = self._processor.encode(plain) + [END] * end
        return self._located(ids, spans, len(text))

    def pieces(self, ids: Sequence[int]) -> tuple[Piece, ...]:
        """The pieces with these ids; their spans refer to `decode(ids)`."""
        length = len(self.decode(ids))
        return self._located(ids, [(at, at + 1) for at in range(length)], length)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the pieces: special ones left out, bytes joined, broken bytes as U+FFFD."""
        return "".join(self._surfaces(ids))

    def _surfaces(self, ids: Sequence[int]) -> list[str]:
        """What each piece that is not special writes; of the bytes of a character the last one writes it."""
        written = [piece for piece in ids if piece not in CONTROLS]
        return [piece.surface for piece in self._processor.decode(written, return_type="proto").pieces]

    def _located(self, ids: Sequence[int], spans: Sequence[tuple[int, int]], length: int) -> tuple[Piece, ...]:
        """Walk along what the pieces write, one after the other.

        Args:
            ids: of the pieces.
            spans: of each character that they write in the reader's text.
            length: of the reader's text.
        """
        pieces = []
        at = 0
        surfaces = iter(self._surfaces(ids))
        for piece in ids:
            if piece in CONTROLS:
                pieces.append(Piece(piece, self.texts[piece], None, True))
                continue
            surface = next(surfaces)
            if self._processor.is_byte(piece):
                first, last = at, at + 1
            else:
                first = at + len(surface) - len(surface.lstrip(" "))
                last = max(first, at + len(surface.rstrip(" ")))
            at += len(surface)
            covered = spans[first:last]
            here = spans[first][0] if first < len(spans) else length
            span = (covered[0][0], covered[-1][1]) if covered else (here, here)
            pieces.append(Piece(piece, self.texts[piece], span, False))
        return tuple(pieces)


def train_tokenizer(sentences: Iterable[str], *, size: int = 8000, seed: int = 1) -> Tokenizer:
    """One unigram vocabulary for both languages (Kudo 2018, "Subword Regularization", section 3.2).

    Characters outside it are spelt in UTF-8 bytes, so none is ever lost. Digits are pieces of their own.

    Args:
        sentences: of both languages, as they come.
        size: number of pieces, special ones and 256 bytes included.
        seed: of sentencepiece's random numbers.

    Raises:
        ValueError: there is too little text for so many pieces.
    """
    model = io.BytesIO()
    sentencepiece.set_random_generator_seed(seed)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(normalise(sentence) for sentence in sentences),
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            character_coverage=0.9999,
            required_chars=REQUIRED,
            byte_fallback=True,
            split_digits=True,
            # The text is normalised already, by rules that know where each character came from.
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=START,
            eos_id=END,
            pad_piece="<pad>",
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ValueError(
            f"no vocabulary of {size} pieces could be made of this text, try another size (--vocabulary): {error}"
        ) from error
    return Tokenizer(model.getvalue())
