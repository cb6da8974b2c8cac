"""Measures over many sentences how well attribution graphs predict the effects of cutting edges."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from transformer.ablation.estimate import Estimate, rank_correlation
from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenRun
from transformer.attribution.graph import attribution_graph, prune, runner_up
from transformer.attribution.paths import path_effects
from transformer.files.records import Record
from transformer.measurements.importance import BOOTSTRAP, BOOTSTRAP_SEED, bootstrap
from transformer.running.translator import Translator
from transformer.values.head_means import sentences_digest

# Maximum number of sentences. Each takes two seconds, so a measurement takes less than two minutes.
MAX_SENTENCES = 50


@dataclass(frozen=True, eq=False)
class PathStatistics(Record):
    """Agreement between predicted and measured effects of cutting edges, for one predicted token per sentence.

    Attributes:
        model: `Translator.version` of the model.
        sentences: number of sentences.
        digest: `sentences_digest` of the sentences.
        paths: mean number of edges that were cut in a graph.
        difference: Spearman's rank correlation within a sentence, for effects on the logit difference between the token
            and the runner-up.
        logit: Spearman's rank correlation within a sentence, for effects on the token's logit alone.
        sign: fraction of edges whose measured effect has the predicted sign, 0 to 1, for the logit difference.
    """

    model: str
    sentences: int
    digest: str
    paths: float
    difference: Estimate
    logit: Estimate
    sign: Estimate

    def _written(self) -> dict[str, Any]:
        return {**super()._written(), "interval": BOOTSTRAP}


def path_statistics(translator: Translator, sentences: Iterable[str]) -> PathStatistics:
    """Measure how well predicted and measured effects of cutting edges agree, averaged over sentences.

    For each sentence, the edges in the pruned attribution graph of one token are cut, one edge at a time. The token is
    chosen at random with the seed `BOOTSTRAP_SEED`, so that no position in the sentence is favoured.

    Args:
        translator: the model.
        sentences: sentences in the source language; only the first `MAX_SENTENCES` are read.

    Raises:
        ValueError: there are no sentences.
    """
    random = np.random.default_rng(BOOTSTRAP_SEED)
    read, results, counts = [], [], []
    for text in islice(sentences, MAX_SENTENCES):
        trace = translator.trace(text, details=True)
        run = FrozenRun(trace, translator.weights())
        position = int(random.integers(len(trace.predicted_tokens)))
        against = Target((position,), (runner_up(trace, position),))
        (difference, sign, count), (logit, *_) = (_effects(run, target) for target in (against, Target((position,))))
        read.append(text)
        results.append((difference, logit, sign))
        counts.append(count)
    if not results:
        raise ValueError("there are no sentences: add some, one per line")
    return PathStatistics(
        translator.version,
        len(read),
        sentences_digest(read),
        float(np.mean(counts)),
        *(bootstrap(np.array(values)) for values in zip(*results, strict=True)),
    )


def _effects(run: FrozenRun, target: Target) -> tuple[float, float, int]:
    """Return the rank correlation and sign agreement of predicted and measured effects, and the number of edges."""
    graph = attribution_graph(run, target)
    edges = list(prune(graph).edges)
    predicted, effects = graph.edges[edges], path_effects(run, target, graph.paths(edges))
    return rank_correlation(predicted, effects), float((np.sign(predicted) == np.sign(effects)).mean()), len(edges)
