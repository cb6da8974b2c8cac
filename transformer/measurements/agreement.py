"""Measures how well attribution methods agree over many sentences, with confidence intervals."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.ablation.estimate import Estimate
from transformer.analysis.words import has_word, word_groups
from transformer.attribution.agreement import Agreement, agreement
from transformer.attribution.attribution import METHODS, Method, Target, token_groups
from transformer.files.records import Record
from transformer.measurements.importance import BOOTSTRAP, BOOTSTRAP_SEED, bootstrap
from transformer.running.translator import Translator
from transformer.values.head_means import sentences_digest

# Minimum number of words in a sentence. A ranking of fewer words would be meaningless.
MIN_WORDS = 3


@dataclass(frozen=True, eq=False)
class AgreementStatistics(Record):
    """Agreement between attribution methods, averaged over sentences. One translated word is explained per sentence.

    Attributes:
        model: `Translator.version` of the model.
        sentences: number of sentences in the averages.
        left_out: number of sentences left out because the sentence had fewer than `MIN_WORDS` words, the translation
            had no word, or some method gave all words equal scores.
        digest: `sentences_digest` of all sentences.
        words: mean number of ranked source words per sentence.
        methods: the M methods.
        tau: Kendall's tau-b of each pair of methods, -1 to 1, [M, M].
        same_first: fraction of sentences in which both methods of a pair rank the same word first, 0 to 1, [M, M].
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
        if unknown := set(self.methods) - METHODS.keys():
            raise ValueError(f"the record has unknown attribution methods: {', '.join(sorted(unknown))}")

    def _written(self) -> dict[str, Any]:
        return {**super()._written(), "interval": BOOTSTRAP}


def agreement_statistics(translator: Translator, sentences: Iterable[str]) -> AgreementStatistics:
    """Explain one word of each sentence's translation with every method, and average the agreement between methods.

    The word is chosen at random with the seed `BOOTSTRAP_SEED`, so that no position in the sentence is favoured.

    Args:
        translator: the model.
        sentences: sentences in the source language; each is explained before the next one is read.

    Raises:
        ValueError: there is no sentence whose words can be ranked.
    """
    random = np.random.default_rng(BOOTSTRAP_SEED)
    read: list[str] = []
    agreements: list[Agreement] = []
    for text in sentences:
        agreement = _agreement(translator, text, random)
        read.append(text)
        if agreement is not None:
            agreements.append(agreement)
    if not agreements:
        raise ValueError(f"no sentence has words that can be ranked: add sentences of at least {MIN_WORDS} words")
    return AgreementStatistics(
        translator.version,
        len(agreements),
        len(read) - len(agreements),
        sentences_digest(read),
        float(np.mean([len(agreement.columns) for agreement in agreements])),
        agreements[0].methods,
        bootstrap(np.stack([agreement.tau for agreement in agreements])),
        bootstrap(np.stack([agreement.same_first.astype(np.float64) for agreement in agreements])),
    )


def _agreement(translator: Translator, text: str, random: np.random.Generator) -> Agreement | None:
    """Return how well the attribution methods agree on a random word of a sentence's translation.

    None means that the sentence or its translation has too few words, or that some method gives all source words the
    same score.
    """
    trace = translator.trace(text, details=True)
    tokens, text_written = trace.predicted_tokens, trace.target_text
    words = [group for group in word_groups(tokens, text_written) if has_word(group, tokens, text_written)]
    position = int(random.integers(max(1, len(words))))
    groups, _ = token_groups(trace, words=True)
    columns = [column for column, group in enumerate(groups) if not trace.source_tokens[group[0]].special]
    if not words or len(columns) < MIN_WORDS:
        return None
    target = [Target(words[position])]
    agreed = agreement([translator.attribute(trace, method, target, words=True) for method in METHODS], columns)
    return agreed if np.isfinite(agreed.tau).all() else None
