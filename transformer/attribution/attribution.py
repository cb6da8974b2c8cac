"""The attribution methods and their result type: scores of source tokens and of previously written target tokens.

Letters: R explained targets, S source tokens, T input tokens of the decoder. A word's score is the sum over its tokens;
erasure instead hides the word as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from transformer.analysis.words import Group, groups_of
from transformer.values.trace import Trace
from transformer.values.weights import Weights

if TYPE_CHECKING:
    from transformer.model.transformer import Transformer

# Name of an attribution method, a key of METHODS.
Method = str


@dataclass(frozen=True)
class MethodEntry:
    """Description of an attribution method and its scores.

    Attributes:
        title: display name of the method.
        text: one or two sentences about what the method does.
        unit: unit of a score.
        signed: whether a score can be negative, that is, count against the predicted word.
        contrastive: whether the method can explain why one token was predicted rather than another.
        adds_up: "separately" if source scores and prefix scores each sum to 1; "together" if the sum of all source
            and prefix scores has a meaning; "no" if sums have no meaning.
        measured: whether the method hides tokens and runs the model again to measure the effect.
        as_trained: whether the method rejects traces with interventions.
        slow: whether the method is slow on long sentences.
        baseline: reference point that scores are measured from.
    """

    title: str
    text: str
    unit: str
    adds_up: Literal["separately", "together", "no"]
    signed: bool = False
    contrastive: bool = False
    measured: bool = False
    as_trained: bool = False
    slow: bool = False
    baseline: str = "none"


# All methods, in display order. `attribute` imports each method from the module with the method's name.
METHODS: Mapping[Method, MethodEntry] = {
    "weights": MethodEntry(
        "Attention weights",
        "How much attention each word gets, averaged over all layers and heads.",
        "share of attention",
        "separately",
    ),
    "norms": MethodEntry(
        "Vector norms",
        "The length of the vector that each word adds to an attention layer's output, averaged over all layers "
        "(Kobayashi et al. 2020, 2021).",
        "share of vector lengths",
        "separately",
    ),
    "rollout": MethodEntry(
        "Rollout",
        "The attention weights of all layers are multiplied together. The residual connection counts as half of each "
        "layer (Abnar and Zuidema 2020; for encoder-decoders, Ferrando et al. 2022).",
        "share",
        "together",
    ),
    "alti": MethodEntry(
        "ALTI+",
        "The closer a word's vector is to the sum of all vectors in a layer, the larger its share. The shares of all "
        "layers are multiplied together (Ferrando et al. 2022).",
        "share",
        "together",
    ),
    "frozen_gradient": MethodEntry(
        "Frozen gradient",
        "Splits the logit exactly into one term for each word, plus terms for positions and biases. Attention weights, "
        "activations and layer norms’ scales are held constant (Ali et al. 2022; DecompX, Modarressi et al. 2023).",
        "logit",
        "together",
        signed=True,
        contrastive=True,
        as_trained=True,
        baseline="none: all terms together make up the whole logit",
    ),
    "integrated_gradients": MethodEntry(
        "Integrated gradients",
        "The embeddings grow from 0 to their actual values, and each word is credited with its share "
        "of the change in log-probability (Sundararajan et al. 2017).",
        "nats",
        "together",
        signed=True,
        contrastive=True,
        as_trained=True,
        slow=True,
        baseline="embeddings set to 0, positions unchanged",
    ),
    "erasure": MethodEntry(
        "Erasure",
        "Measures how much the log-probability falls when a word is hidden from all other words in every "
        "layer (Li et al. 2016).",
        "nats",
        "no",
        signed=True,
        contrastive=True,
        measured=True,
        as_trained=True,
        slow=True,
        baseline="the sentence with nothing hidden",
    ),
}


@dataclass(frozen=True)
class Target:
    """One or more predictions to explain together.

    Attributes:
        positions: decoder rows to explain. Row t reads `trace.target_tokens[t]` and predicts
            `trace.predicted_tokens[t]`. Use one position to explain a token, several for a word, and all for the
            sentence.
        against: ids of alternative tokens, one per position, to explain why the predicted tokens won against them. If
            None, the predicted tokens are explained on their own.
    """

    positions: tuple[int, ...]
    against: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.positions:
            raise ValueError("a target needs at least one position")
        if self.against is not None and len(self.against) != len(self.positions):
            raise ValueError(
                f"`against` needs one token for each of the {len(self.positions)} positions, not {len(self.against)}"
            )


@dataclass(frozen=True, eq=False)
class Attribution:
    """Scores from one attribution method; float64.

    Attributes:
        method: name of the method.
        targets: the R explained targets.
        source: scores of the source tokens, [R, S], or words, [R, words].
        prefix: scores of the decoder's input tokens, start symbol first, [R, T], or words, [R, words]. Tokens after the
            target score 0. NaN if the method has no score for a token.
        source_groups, prefix_groups: token positions that each column covers.
        remainders: parts of the total that belong to no token, such as the biases, by name, [R] each.
        total: independently computed sum that scores and remainders should add up to, [R]; NaN if the method defines
            none.
    """

    method: Method
    targets: tuple[Target, ...]
    source: np.ndarray
    prefix: np.ndarray
    source_groups: tuple[Group, ...]
    prefix_groups: tuple[Group, ...]
    total: np.ndarray
    remainders: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.source, self.prefix, self.total, *self.remainders.values()):
            array.setflags(write=False)

    @property
    def properties(self) -> MethodEntry:
        return METHODS[self.method]

    def error(self) -> np.ndarray:
        """Return how far the sum of scores and remainders is from `total`, [R]; NaN if the method defines no total.

        If source scores and prefix scores should each sum to 1, return the larger of their two deviations.
        """
        source, prefix = self.source.sum(axis=1), self.prefix.sum(axis=1)
        if self.properties.adds_up == "separately":
            return np.maximum(abs(source - self.total), abs(prefix - self.total))
        return abs(source + prefix + sum(self.remainders.values()) - self.total)

    def source_share(self) -> np.ndarray:
        """Return the source's share of all score magnitudes, [R].

        NaN if all scores are 0, and for methods whose source and prefix scores are normalised separately.
        """
        if self.properties.adds_up == "separately":
            return np.full(len(self.targets), np.nan)
        source, prefix = np.nansum(abs(self.source), axis=1), np.nansum(abs(self.prefix), axis=1)
        both = source + prefix
        return np.divide(source, both, out=np.full_like(both, np.nan), where=both > 0)

    def merged(self, source_groups: Sequence[Group], prefix_groups: Sequence[Group]) -> Attribution:
        """Sum the scores of the tokens in each group.

        Not used for erasure, because erasing several tokens together has a different effect from erasing each one
        alone.
        """
        return replace(
            self,
            source=_sum_groups(self.source, source_groups),
            prefix=_sum_groups(self.prefix, prefix_groups),
            source_groups=tuple(source_groups),
            prefix_groups=tuple(prefix_groups),
        )


@dataclass(frozen=True, eq=False)
class TracedRun:
    """A model run to explain.

    Attributes:
        trace: trace of the run, with details.
        model: the model, for methods that run its layers again.
        weights: the model's weights as numpy arrays.
        source_groups, prefix_groups: groups of positions that erasure hides together.
    """

    trace: Trace
    model: Transformer
    weights: Weights
    source_groups: tuple[Group, ...]
    prefix_groups: tuple[Group, ...]


def every_position(trace: Trace) -> tuple[Target, ...]:
    """Return one target for each predicted token."""
    return tuple(Target((position,)) for position in range(len(trace.predicted_tokens)))


def whole_sentence(trace: Trace) -> Target:
    """Return a single target that covers all predicted tokens."""
    return Target(tuple(range(len(trace.predicted_tokens))))


def token_groups(trace: Trace, *, words: bool = False) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """Return the token positions of each source and prefix column: single tokens, or whole words if `words` is True."""
    return (
        groups_of(trace.source_tokens, trace.source_text, words=words),
        groups_of(trace.target_tokens, trace.target_text, words=words),
    )


def attribution_of_tokens(
    method: Method,
    trace: Trace,
    targets: Sequence[Target],
    source: np.ndarray,
    prefix: np.ndarray,
    total: np.ndarray,
    remainders: Mapping[str, np.ndarray] | None = None,
) -> Attribution:
    """Return an attribution with one column per token; the arrays are as in `Attribution`."""
    return Attribution(method, tuple(targets), source, prefix, *token_groups(trace), total, remainders or {})


def attribution_of_shares(
    method: Method, trace: Trace, targets: Sequence[Target], source: np.ndarray, prefix: np.ndarray
) -> Attribution:
    """Build an attribution by averaging the rows of `source` and `prefix` over each target's positions.

    Args:
        source, prefix: scores of the source tokens [T, S] and of the target tokens [T, T] at each step, as proportions.

    Raises:
        ValueError: a target has `against`, but the scores do not depend on which token was predicted.
    """
    if any(target.against for target in targets):
        contrastive = ", ".join(name for name, properties in METHODS.items() if properties.contrastive)
        raise ValueError(f"{method} gives every candidate the same scores; for a contrast, choose one of {contrastive}")
    source, prefix = (
        np.stack([side[list(target.positions)].mean(axis=0) for target in targets]) for side in (source, prefix)
    )
    return attribution_of_tokens(method, trace, targets, source, prefix, np.ones(len(targets)))


def _sum_groups(scores: np.ndarray, groups: Sequence[Group]) -> np.ndarray:
    return np.stack([scores[:, list(group)].sum(axis=1) for group in groups], axis=1)
