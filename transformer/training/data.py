"""Sentence pairs: read from tab-separated files, varied, turned into pieces, kept in one flat file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transformer.tokenizer import Tokenizer, normalise

Pair = tuple[str, str]

FINAL_PUNCTUATION = ".!?"


def read_pairs(path: Path) -> list[Pair]:
    """The (source, target) pairs of a tab-separated UTF-8 file, gzip-compressed if its name ends in .gz.

    Further columns are ignored; rows with an empty side are left out.

    Raises:
        ValueError: a row has no tab, there is no pair, or the file is damaged; the message names it.
    """
    open_file = gzip.open if path.suffix == ".gz" else open
    pairs = []
    try:
        with open_file(path, "rt", encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                columns = line.rstrip("\r\n").split("\t")
                if len(columns) < 2:
                    raise ValueError(f"{path}, line {number}: expected source, tab, target; there is no tab")
                source, target = normalise(columns[0]), normalise(columns[1])
                if source and target:
                    pairs.append((source, target))
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged, or no UTF-8 text ({error}): fetch it again") from error
    if not pairs:
        raise ValueError(f"{path} has no pair of sentences")
    return pairs


def typed_carelessly(pair: Pair) -> Pair:
    """The pair as hurried people type it: the source in lower case, without its final punctuation."""
    source, target = pair
    return source.rstrip(FINAL_PUNCTUATION).lower() or source, target


def overlap(training: Sequence[Pair], held_out: Sequence[Pair]) -> list[str]:
    """The held-out sources that are among the training sources, lower case, punctuation and spaces aside."""

    def bare(text: str) -> str:
        return "".join(character for character in text.lower() if character.isalnum())

    seen = {bare(source) for source, _ in training}
    return [source for source, _ in held_out if bare(source) in seen]


def vary(
    pairs: Sequence[Pair], *, careless: float, joined: float, rng: np.random.Generator
) -> list[Pair]:
    """The pairs, and more made from them.

    Args:
        pairs: what there is.
        careless: for this share of the pairs, add a copy whose source is typed carelessly.
        joined: add this many pairs, relative to their number, that are two or three random ones in a row, so
            that the model learns not to stop after one short sentence.
        rng: where the choices come from.
    """
    more = list(pairs)
    for index in rng.choice(len(pairs), size=int(careless * len(pairs)), replace=False):
        more.append(typed_carelessly(pairs[index]))
    for _ in range(int(joined * len(pairs))):
        parts = [pairs[index] for index in rng.integers(len(pairs), size=rng.integers(2, 4))]
        more.append((" ".join(source for source, _ in parts), " ".join(target for _, target in parts)))
    return more


@dataclass(frozen=True)
class Side:
    """The pieces of one language, sentence after sentence.

    Attributes:
        pieces: uint16, all sentences without a gap; each ends with the end symbol.
        starts: int64 [N + 1]; sentence i is pieces[starts[i] : starts[i + 1]].
    """

    pieces: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> Side:
        lengths = np.fromiter((len(sentence) for sentence in sentences), dtype=np.int64, count=len(sentences))
        pieces = np.fromiter(
            (piece for sentence in sentences for piece in sentence), dtype=np.uint16, count=int(lengths.sum())
        )
        return cls(pieces, np.concatenate([[0], lengths.cumsum()]))

    @property
    def lengths(self) -> np.ndarray:
        """Pieces of each sentence, [N]."""
        return np.diff(self.starts)

    def __getitem__(self, index: int) -> np.ndarray:
        return self.pieces[self.starts[index] : self.starts[index + 1]]


@dataclass(frozen=True)
class PieceData:
    """Sentence pairs as pieces, equally many on both sides."""

    source: Side
    target: Side

    def __len__(self) -> int:
        return len(self.source.starts) - 1

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return ((self.source[index], self.target[index]) for index in range(len(self)))

    @classmethod
    def of(cls, pairs: Sequence[Pair], tokenizer: Tokenizer, *, max_pieces: int, sampled: int = 0) -> PieceData:
        """Split the pairs into pieces.

        Args:
            pairs: texts.
            tokenizer: splits them.
            max_pieces: a pair of which a side has more is left out.
            sampled: so many times every pair comes once more, each time split at random.
        """
        if tokenizer.size > np.iinfo(np.uint16).max:
            raise ValueError(f"vocabularies of up to 65,535 pieces can be kept, this one has {tokenizer.size}")
        ways = [tokenizer.encode_ids, *[tokenizer.sample_ids] * sampled]
        split = [(encode(source), encode(target)) for encode in ways for source, target in pairs]
        kept = [pair for pair in split if max(map(len, pair)) <= max_pieces]
        return cls(Side.of([source for source, _ in kept]), Side.of([target for _, target in kept]))

    def save(self, path: Path) -> None:
        np.savez(
            path, source=self.source.pieces, source_starts=self.source.starts, target=self.target.pieces,
            target_starts=self.target.starts,
        )

    @classmethod
    def load(cls, path: Path) -> PieceData:
        with np.load(path, allow_pickle=False) as file:
            return cls(
                Side(file["source"], file["source_starts"]), Side(file["target"], file["target_starts"])
            )
