"""Turns files of sentence pairs into a run folder that `train` can start from."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from transformer.checkpoint import VOCABULARY
from transformer.tokenizer import Tokenizer, train_tokenizer
from transformer.training.batching import WIDTHS
from transformer.training.data import PieceData, read_pairs, vary

log = logging.getLogger(__name__)


def prepare(
    run: Path,
    *,
    data: Sequence[Path],
    validation: Path,
    vocabulary: int = 8000,
    careless: float = 0.15,
    joined: float = 0.1,
    sampled: int = 1,
    seed: int = 1,
    start: Path | None = None,
) -> None:
    """Write tokenizer.model, train.npz and validation.npz into the run folder.

    Args:
        run: the folder, made if it is not there.
        data: tab-separated files of source and target sentences.
        validation: another one, for the loss that is watched during training.
        vocabulary: number of pieces, one vocabulary for both languages.
        careless: share of pairs that get a copy in lower case without final punctuation.
        joined: number of pairs to make out of two or three others, relative to all.
        sampled: how often every pair comes once more, split into pieces at random. Sentencepiece takes no seed for
            that: prepared again, these splits are others.
        seed: of the other choices.
        start: model folder whose vocabulary is taken, for a run that is to start with its weights.

    Raises:
        ValueError: a file cannot be read (see `read_pairs`), or no vocabulary can be made of so little text.
    """
    run.mkdir(parents=True, exist_ok=True)
    pairs = [pair for path in data for pair in read_pairs(path)]
    log.info("%d pairs", len(pairs))
    if start:
        tokenizer = Tokenizer.load(start / VOCABULARY)
    else:
        tokenizer = train_tokenizer(itertools.chain.from_iterable(pairs), size=vocabulary)
    (run / VOCABULARY).write_bytes(tokenizer.serialized)
    varied = vary(pairs, careless=careless, joined=joined, rng=np.random.default_rng(seed))
    for name, chosen, copies in (("train", varied, sampled), ("validation", read_pairs(validation), 0)):
        pieces = PieceData.of(chosen, tokenizer, max_pieces=WIDTHS[-1], sampled=copies)
        pieces.save(run / f"{name}.npz")
        log.info(
            "%s: %d pairs of at most %d pieces, %d source and %d target pieces", name, len(pieces), WIDTHS[-1],
            len(pieces.source.pieces), len(pieces.target.pieces),
        )
