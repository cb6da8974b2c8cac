"""Sentence pairs for training: read from tab-separated files, augmented, tokenized and saved."""

from __future__ import annotations

import gzip
import logging
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from transformer.files.tensors import write_sealed
from transformer.text.tokenizer import PAD, Tokenizer, normalise

Pair = tuple[str, str]

# Largest vocabulary size; token ids are stored as uint16.
MAX_TOKENS = int(np.iinfo(np.uint16).max)
FINAL_PUNCTUATION = ".!?"

log = logging.getLogger(__name__)


def read_pairs(path: Path) -> list[Pair]:
    """Read the sentence pairs in a file. Skip pairs with an empty source or target, and log how many were skipped."""
    rows = read_rows(path)
    pairs = [pair for pair in rows if all(pair)]
    if len(pairs) < len(rows):
        skipped = len(rows) - len(pairs)
        log.warning("%s: skipped %d of %d pairs, because the source or target is empty", path, skipped, len(rows))
    return pairs


def read_rows(path: Path) -> list[Pair]:
    """Read all (source, target) pairs from a tab-separated UTF-8 file; a name ending in .gz means gzip compression.

    Columns after the second are ignored; the source or target of a pair may be empty.

    Raises:
        ValueError: a row has no tab or is not UTF-8, no pair has both a source and a target, or the file is damaged;
            the message names the file and the line.
    """
    pairs = []
    for number, columns in _rows(path):
        if len(columns) < 2:
            raise ValueError(f"line {number} of {path} has no tab: put a tab between source and target")
        pairs.append((normalise(columns[0]), normalise(columns[1])))
    if not any(map(all, pairs)):
        raise ValueError(f"{path} contains no complete sentence pair: add rows with source, tab, target")
    return pairs


def read_sentences(path: Path, column: int) -> list[str]:
    """Read the sentences in one column of a tab-separated file. Skip empty sentences, and log how many were skipped.

    Args:
        path: the file.
        column: 1-based number of the column; the file needs no other columns.

    Raises:
        ValueError: a row has no such column or is not UTF-8, there is no sentence, or the file is damaged; the message
            names the file and the line.
    """
    sentences = []
    for number, columns in _rows(path):
        if len(columns) < column:
            raise ValueError(f"{path}, line {number}: there is no column {column}")
        sentences.append(normalise(columns[column - 1]))
    if not any(sentences):
        raise ValueError(f"{path} has no sentence in column {column}")
    not_empty = [sentence for sentence in sentences if sentence]
    if len(not_empty) < len(sentences):
        log.warning(
            "%s: skipped %d of %d sentences, because they are empty",
            path,
            len(sentences) - len(not_empty),
            len(sentences),
        )
    return not_empty


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (1-based line number, line) for each line in a UTF-8 file; a name ending in .gz means gzip compression.

    Raises:
        FileNotFoundError: the file does not exist.
        ValueError: a line is not UTF-8, or the file cannot be read; the message names the file and the line.
    """
    open_file = gzip.open if path.suffix == ".gz" else open
    try:
        with open_file(path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield number, line.decode("utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise ValueError(
                        f"line {number} of {path} is not UTF-8 text ({error}): save the file as UTF-8"
                    ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged ({error}): fetch it again") from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): choose a text file") from error


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    return ((number, line.split("\t")) for number, line in read_lines(path))


def without_case_and_punctuation(pair: Pair) -> Pair:
    """Return the pair with a carelessly typed source: in lower case and without final punctuation."""
    source, target = pair
    return source.rstrip(FINAL_PUNCTUATION).lower() or source, target


def _letters_only(text: str) -> str:
    """Return the text in lower case, without punctuation or spaces."""
    return "".join(character for character in text.lower() if character.isalnum())


def overlap(training: Sequence[Pair], held_out: Sequence[Pair]) -> list[str]:
    """Return the held-out sentences that also occur in the training data, first sources, then targets.

    Sources are compared only with sources, and targets only with targets. Case, punctuation and spaces are ignored.
    """
    shared = []
    for side in range(2):
        training_sentences = {_letters_only(pair[side]) for pair in training}
        shared += [pair[side] for pair in held_out if _letters_only(pair[side]) in training_sentences]
    return shared


def without_held_out(pairs: Sequence[Pair], held_out: Sequence[Pair]) -> list[Pair]:
    """Return the pairs in which neither side is a held-out sentence, ignoring case, punctuation and spaces."""
    sources, targets = ({_letters_only(pair[side]) for pair in held_out} for side in range(2))
    return [pair for pair in pairs if _letters_only(pair[0]) not in sources and _letters_only(pair[1]) not in targets]


def augment(pairs: Sequence[Pair], *, careless: float, joined: float, rng: np.random.Generator) -> list[Pair]:
    """Return the pairs, followed by additional pairs made from them.

    Args:
        pairs: original pairs.
        careless: fraction of the pairs, 0 to 1, to copy with the source in lower case and without final punctuation.
        joined: number of additional pairs that each join two or three random pairs, as a fraction of the original
            number. Joined pairs teach the model not to stop after one short sentence.
        rng: random number generator.
    """
    more = list(pairs)
    for index in rng.choice(len(pairs), size=int(careless * len(pairs)), replace=False):
        more.append(without_case_and_punctuation(pairs[index]))
    for _ in range(int(joined * len(pairs))):
        parts = [pairs[index] for index in rng.integers(len(pairs), size=rng.integers(2, 4))]
        more.append((" ".join(source for source, _ in parts), " ".join(target for _, target in parts)))
    return more


def check_size(tokenizer: Tokenizer) -> None:
    """Check that the vocabulary's ids fit into uint16, the type of token ids in data files.

    Raises:
        ValueError: the vocabulary is too large.
    """
    if tokenizer.size > MAX_TOKENS:
        raise ValueError(f"the vocabulary has {tokenizer.size} tokens; the limit is {MAX_TOKENS:,}")


@dataclass(frozen=True)
class SideTokens:
    """Token ids of all sentences in one language.

    Attributes:
        tokens: concatenated token ids of all sentences, uint16; each sentence ends with the end symbol.
        starts: start index of each sentence, int64 [N + 1]; sentence i is `tokens[starts[i] : starts[i + 1]]`.
    """

    tokens: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> SideTokens:
        lengths = np.fromiter((len(sentence) for sentence in sentences), dtype=np.int64, count=len(sentences))
        tokens = np.fromiter(
            (token for sentence in sentences for token in sentence), dtype=np.uint16, count=int(lengths.sum())
        )
        return cls(tokens, np.concatenate([[0], lengths.cumsum()]))

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of tokens in each sentence, [N]."""
        return np.diff(self.starts)

    def __getitem__(self, index: int) -> np.ndarray:
        return self.tokens[self.starts[index] : self.starts[index + 1]]

    def padded(self, members: np.ndarray, width: int) -> np.ndarray:
        """Return the M sentences with indices `members`, padded to `width` tokens, int64 [M, width].

        Args:
            members: sentence indices, [M].
            width: number of columns, at least the length of the longest sentence.
        """
        columns = np.arange(width)
        positions = np.minimum(self.starts[members][:, None] + columns, len(self.tokens) - 1)
        inside = columns < self.lengths[members][:, None]
        return np.where(inside, self.tokens[positions], PAD).astype(np.int64)


@dataclass(frozen=True)
class TokenData:
    """Tokenized sentence pairs; both sides have the same number of sentences."""

    source: SideTokens
    target: SideTokens

    def __len__(self) -> int:
        return len(self.source.starts) - 1

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return ((self.source[index], self.target[index]) for index in range(len(self)))

    @classmethod
    def of(cls, pairs: Sequence[Pair], tokenizer: Tokenizer, *, max_tokens: int, sampled: int = 0) -> TokenData:
        """Tokenize sentence pairs.

        Args:
            pairs: source and target texts.
            tokenizer: tokenizer for both languages.
            max_tokens: maximum number of tokens in a sentence; pairs with a longer source or target are excluded.
            sampled: number of extra copies of every pair, tokenized at random (BPE-dropout).
        """
        check_size(tokenizer)
        encoded: list[tuple[list[int], list[int]]] = []
        for copy in range(1 + sampled):
            sources, targets = (
                tokenizer.encode_all((pair[side] for pair in pairs), sampled=copy > 0) for side in range(2)
            )
            encoded += zip(sources, targets, strict=True)
        short = [pair for pair in encoded if max(map(len, pair)) <= max_tokens]
        return cls(SideTokens.of([source for source, _ in short]), SideTokens.of([target for _, target in short]))

    def save(self, path: Path, fingerprint: str) -> None:
        """Write the pairs to a file, with the vocabulary's fingerprint."""
        arrays = {
            "source": self.source.tokens,
            "source_starts": self.source.starts,
            "target": self.target.tokens,
            "target_starts": self.target.starts,
        }
        tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
        write_sealed(path, tensors, {"vocabulary": fingerprint})

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, np.ndarray]) -> TokenData:
        """Return the pairs from the arrays in a file written by `save`."""
        return cls(*(SideTokens(arrays[name], arrays[f"{name}_starts"]) for name in ("source", "target")))
