"""Measures over many sentences whether the graph of a prediction predicts what cutting its paths does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from transformer.ablation.estimate import Estimate, rank_correlation
from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenRun
from transformer.attribution.graph import attribution_graph, pruned, runner_up
from transformer.attribution.paths import path_effects
from transformer.files.records import Record
from transformer.running.translator import Translator
from transformer.surveys.importance import BOOTSTRAP, SEED, bootstrap
from transformer.values.head_means import sentences_digest

# One sentence takes two seconds.
MAX_SENTENCES = 50


@dataclass(frozen=True, eq=False)
class PathStatistics(Record):
    """Predicted and measured effects of the drawn paths, over one predicted token of each sentence.

    Attributes:
        model: `Translator.version` of the model.
        sentences: number of sentences.
        digest: `sentences_digest` of them.
        paths: number of paths of a graph, mean over the sentences.
        difference: Spearman's correlation within a sentence; the target is the logit less that of the runner-up.
        logit: the same, where the target is the logit alone.
        sign: share of the paths whose measured effect has the predicted sign, for the difference.
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
    """Cut every path of the graph of one token of each sentence's own translation, and average.

    The token is drawn at random (seed `SEED`), so that no position in the sentence is preferred.

    Args:
        translator: the model.
        sentences: in the source language; the first `MAX_SENTENCES` are read.

    Raises:
        ValueError: there is no sentence.
    """
    random = np.random.default_rng(SEED)
    read, found, counts = [], [], []
    for text in islice(sentences, MAX_SENTENCES):
        trace = translator.trace(text, details=True)
        run = FrozenRun(trace, translator.weights())
        position = int(random.integers(len(trace.predicted_pieces)))
        against = Target((position,), (runner_up(trace, position),))
        (difference, sign, count), (logit, *_) = (_effects(run, target) for target in (against, Target((position,))))
        read.append(text)
        found.append((difference, logit, sign))
        counts.append(count)
    if not found:
        raise ValueError("there are no sentences: give some, one per line")
    return PathStatistics(
        translator.version,
        len(read),
        sentences_digest(read),
        float(np.mean(counts)),
        *(bootstrap(np.array(values)) for values in zip(*found, strict=True)),
    )


def _effects(run: FrozenRun, target: Target) -> tuple[float, float, int]:
    """Spearman's correlation of predicted and measured effects, the share of equal signs, and the number of paths."""
    graph = attribution_graph(run, target)
    edges = list(pruned(graph).edges)
    predicted, measured = graph.edges[edges], path_effects(run, target, graph.paths(edges))
    return rank_correlation(predicted, measured), float((np.sign(predicted) == np.sign(measured)).mean()), len(edges)
