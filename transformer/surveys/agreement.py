"""Whether methods agree over many sentences, with intervals."""

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

# A ranking of fewer words says nothing.
FEWEST_WORDS = 3
# What is said of the others is how near they come to the first, and how often the second puts the same word first.
ALWAYS: tuple[Method, ...] = ("erasure", "weights")


@dataclass(frozen=True, eq=False)
class AgreementStatistics(Record):
    """`Agreement` of all methods, averaged over one translated word of each sentence.

    Attributes:
        model: `Translator.version` of the model.
        sentences: how many count.
        left_out: how many do not: fewer than `FEWEST_WORDS` words to rank, or a method that scores all of them alike.
        digest: `sentences_digest` of all of them.
        words: English words that were ranked, mean of the sentences.
        methods: M of them.
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
            raise ValueError("one of its methods is none of today")

    def _written(self) -> dict[str, Any]:
        return {**super()._written(), "interval": BOOTSTRAP}


def agreement_statistics(translator: Translator, sentences: Iterable[str]) -> AgreementStatistics:
    """Explain one word of the model's own translation of each sentence by every method, and average.

    The word is drawn at random (seed `SEED`), so that no place in the sentence is preferred.

    Args:
        translator: whose model runs.
        sentences: in the source language; each is explained before the next is asked for.

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
        raise ValueError(f"none of the sentences can be ranked: give some with {FEWEST_WORDS} words and more")
    return AgreementStatistics(
        translator.version, len(found), len(read) - len(found), sentences_digest(read),
        float(np.mean([len(one.columns) for one in found])), found[0].methods,
        bootstrap(np.stack([one.tau for one in found])),
        bootstrap(np.stack([one.same_first.astype(np.float64) for one in found])),
    )


def _agreement(translator: Translator, text: str, random: np.random.Generator) -> Agreement | None:
    """On one word of one sentence; None if it cannot be ranked."""
    trace = translator.trace(text, details=True)
    pieces, written = trace.predicted_pieces, trace.target_text
    words = [group for group in word_groups(pieces, written) if has_word(group, pieces, written)]
    chosen = int(random.integers(max(1, len(words))))
    groups, _ = piece_groups(trace, words=True)
    columns = [column for column, group in enumerate(groups) if not trace.source_pieces[group[0]].special]
    if not words or len(columns) < FEWEST_WORDS:
        return None
    target = [Target(words[chosen])]
    agreed = agreement([translator.attribute(trace, method, target, words=True) for method in METHODS], columns)
    return agreed if np.isfinite(agreed.tau).all() else None
