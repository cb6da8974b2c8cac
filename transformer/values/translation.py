"""The results of decoding: a translation, the tree of its beam search, and everything computed for it.

Letters: L decoder layers, H heads, S source tokens, T steps, N hypotheses of a step, P tokens read so far,
C candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from transformer.values.decoding_settings import DecodingSettings
from transformer.values.tokens import Token
from transformer.values.trace import Trace


class HypothesisState(IntEnum):
    """The fate of a hypothesis after one more token."""

    PRUNED = 0
    ALIVE = 1
    ENDED = 2
    # The hypothesis was good enough to continue, but the search had ended.
    UNFINISHED = 3


@dataclass(frozen=True)
class BeamNode:
    """One expansion of a beam search: a hypothesis with one more token.

    Attributes:
        parent: index of the node that it continues; None if it continues the start symbol.
        step: the step that predicted its token, from 0.
        row: index of the hypothesis that it continues, among that step's N.
        token: id of the token.
        log_prob: log-probability of the token, nats.
        rank: rank of the token in its parent's distribution; 1 is the most likely.
        score: sum of the log-probabilities from the start symbol to here, nats; for an imported model, after the
            changes that its settings of `generate` make.
        penalised: score divided by the length penalty.
        place: rank by score among all expansions of its step, from 0.
        fate: what happened to the hypothesis.
    """

    parent: int | None
    step: int
    row: int
    token: int
    log_prob: float
    rank: int
    score: float
    penalised: float
    place: int
    fate: HypothesisState


@dataclass(frozen=True, eq=False)
class SearchTree:
    """Everything that a beam search considered.

    Attributes:
        nodes: every expansion, step by step, best score first within a step.
        cutoffs: for each step, the lowest score among the expansions that were not pruned, nats. An expansion below it
            was pruned. One above it was pruned only if its token is the end symbol and its rank was too low for that.
        best: indices of the nodes of the best hypothesis, from the first token to the last.
        decoder: for each step, the attention weights of its hypotheses to the tokens they read, [N, L, H, P].
        cross: for each step, the attention weights of its hypotheses to the source, [N, L, H, S].
    """

    nodes: tuple[BeamNode, ...]
    cutoffs: tuple[float, ...]
    best: tuple[int, ...]
    decoder: tuple[np.ndarray, ...]
    cross: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        _lock(*self.decoder, *self.cross)

    def rows(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Attention weights of the step that predicted a node's token.

        Returns:
            Weights for the tokens that were read, [L, H, P], and for the source, [L, H, S].
        """
        node = self.nodes[index]
        return self.decoder[node.step][node.row], self.cross[node.step][node.row]


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation, or a language model's continuation of a text, and how it was decoded.

    Attributes:
        settings: decoding settings.
        prefix: ids of the tokens that it had to begin with.
        suppressed: ids of the banned tokens.
        tokens: T tokens written, the end symbol included; spans refer to `text`.
        text: text of the beginning and the tokens.
        log_prob: sum of the model's log-probabilities of the tokens, nats.
        complete: False if the length limit ended it before its end symbol.
        seconds: wall-clock time of decoding, without the encoder's.
        tree: search tree of a beam search by `Translator.trace_decoding`; None otherwise.
        beginning: tokens that a language model continued; spans refer to `text`.
    """

    settings: DecodingSettings
    prefix: tuple[int, ...]
    suppressed: frozenset[int]
    tokens: tuple[Token, ...]
    text: str
    log_prob: float
    complete: bool
    seconds: float
    tree: SearchTree | None
    beginning: tuple[Token, ...] = ()


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The prediction of each decoder layer, when its output goes directly through the final norm and the output layer.

    nostalgebraist 2020, "interpreting GPT: the logit lens", for the decoder of an encoder-decoder model. The
    prediction of the last layer is the model's own.

    Attributes:
        candidate_ids: the most likely next tokens, best first, [L, T, C].
        candidate_log_probs: their log-probabilities, nats, [L, T, C].
        taken: log-probability of the token that the decoder took, nats, [L, T].
    """

    candidate_ids: np.ndarray
    candidate_log_probs: np.ndarray
    taken: np.ndarray

    def __post_init__(self) -> None:
        _lock(self.candidate_ids, self.candidate_log_probs, self.taken)


@dataclass(frozen=True, eq=False)
class TracedTranslation:
    """A translation with everything that was computed for it.

    Attributes:
        translation: the translation.
        trace: trace of the model that reads the source and this translation.
        ranks: rank of each token that was taken in the model's distribution, int [T]; 1 is the most likely.
        logit_lens: the prediction of each decoder layer alone.
    """

    translation: Translation
    trace: Trace
    ranks: np.ndarray
    logit_lens: LogitLens

    def __post_init__(self) -> None:
        _lock(self.ranks)


def _lock(*arrays: np.ndarray) -> None:
    """Make arrays read-only, because callers share them."""
    for array in arrays:
        array.setflags(write=False)
