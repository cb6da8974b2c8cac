"""Trains and runs this project's sentencepiece tokenizer, which also reports each token's character span."""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import sentencepiece

from transformer.files.small_files import read_small
from transformer.text.normalisation import normalise, normalise_with_spans
from transformer.text.spelling import Spelling
from transformer.text.vocabulary import OWN_SYMBOLS, SPACE_MARK
from transformer.values.kinds import Kind
from transformer.values.tokens import Token

# Ids of the special tokens in vocabularies trained by this project. For other vocabularies, use `Vocabulary.symbols`.
PAD, UNKNOWN, START, END = OWN_SYMBOLS.pad, OWN_SYMBOLS.unknown, OWN_SYMBOLS.start, OWN_SYMBOLS.end
# Special tokens that are dropped when ids are converted to text.
CONTROLS = frozenset({PAD, START, END})
# Name of the file with the serialised sentencepiece model in a model folder.
VOCABULARY = "tokenizer.model"
# Probability of skipping a merge in BPE-dropout.
MERGE_DROPOUT = 0.1
# English and German characters that must be tokens even if a small corpus lacks them.
REQUIRED = "".join(map(chr, range(0x21, 0x7F))) + "äöüÄÖÜßéèàçñ€–§°"
# A private-use character that no vocabulary contains; `spell` puts it before a token.
FENCE = "\ue000"
# An opening quote is always a separate token. Otherwise "'some" would be split into "'s" (as in "it's") and "ome".
OPENING_QUOTE = SPACE_MARK + "'"
# Separator between units in the text that `train_tokenizer` learns from. No unit contains it, because normalised text
# has no control characters.
UNIT_BORDER = "\x1f"
UNIT = re.compile(r" ?(?:[^\W\d_]+(?:'[^\W\d_]+)*|\d|([^\w\s]|_)\1*|\w)| ")
CONTRACTION = re.compile(r"(?<=\w)(?='(?:s|t|m|d|re|ve|ll)\b)", re.IGNORECASE)


class Tokenizer:
    """`Vocabulary` with one sentencepiece model for both languages, as trained by `train_tokenizer`. Thread-safe.

    Args:
        model: serialised sentencepiece model.

    Attributes:
        symbols, size, source_size, texts, codes, files, spelling: as in `Vocabulary`.
        scores: frequency score of each token, [V]: the negated merge number for BPE, and the log-probability for a
            unigram vocabulary. Byte tokens score -inf, and special tokens score 0.

    Raises:
        ValueError: the bytes are not a sentencepiece model, or its special tokens have ids other than PAD, UNKNOWN,
            START and END.
    """

    symbols = OWN_SYMBOLS
    codes: tuple[str, ...] = ()

    def __init__(self, model: bytes) -> None:
        self.serialized = model
        self.files: Mapping[str, bytes] = {VOCABULARY: model}
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            self.size: int = self._processor.get_piece_size()
            self.source_size = self.size
        except (RuntimeError, ValueError, TypeError) as error:
            raise ValueError("the vocabulary is damaged, or is not a SentencePiece model") from error
        processor = self._processor
        ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if ids != (PAD, UNKNOWN, START, END):
            raise ValueError(
                f"the vocabulary gives <pad>, <unk>, <s> and </s> the ids {ids} instead of "
                f"{(PAD, UNKNOWN, START, END)}: train it with `python -m transformer.training prepare`"
            )
        everything = list(range(self.size))
        self.texts = tuple(processor.id_to_piece(everything))
        # sentencepiece gives bytes the score 0. Give them -inf, because they encode only characters outside the
        # vocabulary and are therefore the rarest tokens.
        self.scores = tuple(
            -math.inf if byte else score
            for score, byte in zip(processor.get_score(everything), processor.is_byte(everything), strict=True)
        )
        # Byte tokens are spelled like "<0xF0>". Bytes below 0x80 are whole characters, so skip them.
        self.spelling = Spelling(
            {
                token: bytes([value])
                for token in everything
                if processor.is_byte(token) and (value := int(self.texts[token][3:5], 16)) >= 0x80
            }
        )

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Load the tokenizer from a sentencepiece model file.

        Raises:
            FileNotFoundError: the file does not exist.
            ValueError: the file cannot be read, or is not a valid model.
        """
        try:
            return cls(read_small(Path(path)))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ValueError(f"the vocabulary {path} cannot be read ({error.strerror}): choose another file") from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    @property
    def fingerprint(self) -> str:
        """Hexadecimal SHA-256 of the sentencepiece model."""
        return hashlib.sha256(self.serialized).hexdigest()

    def encode_ids(self, text: str, *, end: bool = True) -> list[int]:
        """Return a text's token ids, with the end symbol unless `end` is False."""
        return self._processor.encode(normalise(text)) + [END] * end

    def encode_all(self, texts: Iterable[str], *, sampled: bool = False) -> list[list[int]]:
        """Encode many texts as `encode_ids` does, in parallel on all cores.

        With `sampled`, BPE-dropout skips merges at random, so that words are segmented in different ways (Provilkov et
        al. 2020, "BPE-Dropout: Simple and Effective Subword Regularization", section 3).
        """
        plain = [normalise(text) for text in texts]
        draw = {"enable_sampling": True, "nbest_size": -1, "alpha": MERGE_DROPOUT} if sampled else {}
        return [ids + [END] for ids in self._processor.encode(plain, **draw)]

    def spell(self, token: str) -> list[int]:
        """Return the ids that encode a token of another vocabulary. In `token`, SPACE_MARK stands for a space."""
        # The fence keeps the token apart from the space that sentencepiece inserts before a text.
        fence = self._processor.encode(FENCE)
        return self._processor.encode(FENCE + token.replace(SPACE_MARK, " "))[len(fence) :]

    def encode_source(self, text: str) -> tuple[Token, ...]:
        return self.encode(text)

    def begin(self, text: str) -> tuple[int, ...]:
        return ()

    def key_scores(self, kind: Kind) -> tuple[float, ...]:
        return self.scores

    def encode(self, text: str, *, end: bool = True) -> tuple[Token, ...]:
        """Return a text's tokens, with spans that refer to `text` as typed."""
        plain, spans = normalise_with_spans(text)
        ids = self._processor.encode(plain) + [END] * end
        return self._located(ids, spans, len(text))

    def tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Return the `Token` objects for token ids, with spans that refer to `decode(ids)`."""
        length = len(self.decode(ids))
        return self._located(ids, [(index, index + 1) for index in range(length)], length)

    def decode(self, ids: Sequence[int]) -> str:
        """Convert token ids to text: special tokens are dropped, and invalid bytes become U+FFFD."""
        return "".join(self._surfaces(ids))

    def _surfaces(self, ids: Sequence[int]) -> list[str]:
        """Return each non-special token's text. A character that spans several byte tokens belongs to the last one."""
        spelled = [token for token in ids if token not in CONTROLS]
        return [token.surface for token in self._processor.decode(spelled, return_type="proto").pieces]

    def _located(self, ids: Sequence[int], spans: Sequence[tuple[int, int]], length: int) -> tuple[Token, ...]:
        """Return the `Token` objects for token ids, with spans that refer to the original text.

        Args:
            ids: token ids.
            spans: for each character of the decoded text, the span in the original text.
            length: length of the original text.
        """
        tokens = []
        at = 0
        surfaces = iter(self._surfaces(ids))
        for token in ids:
            if token in CONTROLS:
                tokens.append(Token(token, self.texts[token], None, OWN_SYMBOLS.role(token)))
                continue
            surface = next(surfaces)
            if self._processor.is_byte(token):
                first, last = at, at + 1
            else:
                first = at + len(surface) - len(surface.lstrip(" "))
                last = max(first, at + len(surface.rstrip(" ")))
            covered = spans[first:last]
            if not covered and surface and 0 < at < len(spans) and spans[at] == spans[at - 1]:
                # NFKC may expand one typed character, such as ﷺ, into several words. The spaces between these
                # words then share the character's span.
                covered = spans[at : at + 1]
            at += len(surface)
            here = spans[first][0] if first < len(spans) else length
            span = (covered[0][0], covered[-1][1]) if covered else (here, here)
            tokens.append(Token(token, self.texts[token], span, OWN_SYMBOLS.role(token)))
        return tuple(tokens)


def units(text: str) -> list[str]:
    """Split a normalised text into units: words, digits and punctuation. No token may cross a unit boundary.

    A contraction such as "it's" is two units, "it" and "'s", as in GPT-2's tokenizer (Radford et al. 2019). A space
    belongs to the unit that follows it.
    """
    return [part for unit in UNIT.finditer(text) for part in CONTRACTION.split(unit[0])]


def train_tokenizer(sentences: Iterable[str], *, size: int = 24_000) -> Tokenizer:
    """Train a BPE vocabulary shared by both languages.

    Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", section 3.2. Characters
    outside the vocabulary are encoded as UTF-8 bytes. Every digit is a separate token.

    Args:
        sentences: sentences in both languages, in any order.
        size: vocabulary size, including special tokens and 256 byte tokens.

    Raises:
        ValueError: there is not enough text for `size` tokens.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(UNIT_BORDER.join(units(normalise(sentence))) for sentence in sentences),
            model_writer=model,
            model_type="bpe",
            vocab_size=size,
            character_coverage=0.9999,
            required_chars=REQUIRED,
            user_defined_symbols=[OPENING_QUOTE],
            byte_fallback=True,
            split_digits=True,
            # `units` sets all boundaries. Splitting at a change of script would separate the
            # apostrophe from the rest of a contraction.
            split_by_unicode_script=False,
            pretokenization_delimiter=UNIT_BORDER,
            # `normalise` replaces sentencepiece's own normalisation, so that spans can refer to the typed text.
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
        raise ValueError(f"cannot train a vocabulary of {size} tokens on this text{_possible(str(error))}") from error
    return Tokenizer(model.getvalue())


def _possible(error: str) -> str:
    """Return advice if sentencepiece's error message says that the vocabulary size is out of range, otherwise ""."""
    if most := re.search(r"value <= (\d+)", error):
        return f"; the maximum is {most[1]}: choose a smaller --vocabulary, or add text"
    if least := re.search(r"\d+ vs (\d+)", error):
        return f"; the minimum is {least[1]}, including bytes and letters: choose a larger --vocabulary"
    return ""
