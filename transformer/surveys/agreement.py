"""Measures whether attribution methods agree over many sentences, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.ablation.estimate import Estimate
from transformer.analysis.words import has_word, word_groups
from transformer.attribution.agreement import Agreement, agreement
from transformer.attribution.attribution import METHODS, Method, Target, piece_groups
from transformer.files.records import Record
from transformer.running.translator import Translator
from transformer.surveys.importance import BOOTSTRAP, SEED, bootstrap
from transformer.values.head_means import sentences_digest

# A ranking of fewer words means nothing.
MIN_WORDS = 3
# The other methods are compared with these: how near they come to the first, how often the second names the same word.
ALWAYS: tuple[Method, ...] = ("erasure", "weights")


@dataclass(frozen=True, eq=False)
class AgreementStatistics(Record):
    """`Agreement` of all methods, averaged over one translated word of each sentence.

    Attributes:
        model: `Translator.version` of the model.
        sentences: number of sentences that count.
        left_out: number of those that do not: with fewer than `MIN_WORDS` words to rank, or with equal scores.
        digest: `sentences_digest` of all of them.
        words: number of English words that were ranked, mean over the sentences.
        methods: M methods.
        tau: Kendall's tau-b of each pair, [M, M].
        same_first: share of the sentences in which a pair puts the same word first, [M, M].
    """

    model: str
    sentences: int
    left_out: int
    digest: str
    words: float
    methods: tuple[Method, ...]
    tau: Estimate
    same_first: Estimate

    def __post_init__(self) -> None:
        if not METHODS.keys() >= set(self.methods):
            raise ValueError("one of its methods does not exist in this version")

    def _written(self) -> dict[str, Any]:
        return {**super()._written(), "interval": BOOTSTRAP}


def agreement_statistics(translator: Translator, sentences: Iterable[str]) -> AgreementStatistics:
    """Explain one word of the model's own translation of each sentence by every method, and average.

    The word is drawn at random (seed `SEED`), so that no position in the sentence is preferred.

    Args:
        translator: the model.
        sentences: in the source language; each is explained before the next is read.

    Raises:
        ValueError: no sentence counts.
    """
    random = np.random.default_rng(SEED)
    read: list[str] = []
    found: list[Agreement] = []
    for text in sentences:
        one = _agreement(translator, text, random)
        read.append(text)
        if one is not None:
            found.append(one)
    if not found:
        raise ValueError(f"none of the sentences can be ranked: give some with at least {MIN_WORDS} words")
    return AgreementStatistics(
        translator.version,
        len(found),
        len(read) - len(found),
        sentences_digest(read),
        float(np.mean([len(one.columns) for one in found])),
        found[0].methods,
        bootstrap(np.stack([one.tau for one in found])),
        bootstrap(np.stack([one.same_first.astype(np.float64) for one in found])),
    )


def _agreement(translator: Translator, text: str, random: np.random.Generator) -> Agreement | None:
    """The agreement on one word of one sentence; None if it cannot be ranked."""
    trace = translator.trace(text, details=True)
    pieces, written = trace.predicted_pieces, trace.target_text
    words = [group for group in word_groups(pieces, written) if has_word(group, pieces, written)]
    chosen = int(random.integers(max(1, len(words))))
    groups, _ = piece_groups(trace, words=True)
    columns = [column for column, group in enumerate(groups) if not trace.source_pieces[group[0]].special]
    if not words or len(columns) < MIN_WORDS:
        return None
    target = [Target(words[chosen])]
    agreed = agreement([translator.attribute(trace, method, target, words=True) for method in METHODS], columns)
    return agreed if np.isfinite(agreed.tau).all() else None
