"""Results of decoding: translations, beam search trees, and traced translations.

Letters: L decoder layers, H heads, S source tokens, T steps, N hypotheses in a step, P decoder tokens so far,
C candidates.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from transformer.values.decoding_settings import DecodingSettings
from transformer.values.tokens import Token
from transformer.values.trace import Trace


class HypothesisState(IntEnum):
    """Outcome of a hypothesis after beam search has extended it by one token."""

    PRUNED = 0
    ALIVE = 1
    ENDED = 2
    # Ranked high enough to continue, but the search ended.
    UNFINISHED = 3


@dataclass(frozen=True)
class BeamNode:
    """A node in a beam search tree: a hypothesis extended by one token.

    Attributes:
        parent: index of the node that this node extends; None at the first step.
        step: 0-based step that predicted the token.
        row: index, among the step's N hypotheses, of the hypothesis that this node extends.
        token: id of the added token.
        log_prob: log-probability of the added token, nats.
        rank: rank of the added token in the predicted distribution; 1 is the most likely.
        score: sum of the log-probabilities of all tokens so far, nats. The `generate` settings of an imported model
            may modify these log-probabilities.
        penalised: score divided by the length penalty.
        place: 0-based rank by score among all nodes of the step.
        fate: what the search did with the hypothesis.
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
    """All hypotheses that a beam search considered.

    Attributes:
        nodes: all nodes, ordered by step, then by descending score.
        cutoffs: lowest score among each step's surviving nodes, nats. Every node below the cutoff was pruned. A node
            above the cutoff was pruned only if its token is an end symbol that ranked too low.
        best: node indices of the best hypothesis, from the first token to the last.
        decoder: for each step, the hypotheses' attention weights to the decoder tokens so far, [N, L, H, P].
        cross: for each step, the hypotheses' attention weights to the source, [N, L, H, S].
    """

    nodes: tuple[BeamNode, ...]
    cutoffs: tuple[float, ...]
    best: tuple[int, ...]
    decoder: tuple[np.ndarray, ...]
    cross: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        _lock(*self.decoder, *self.cross)

    def attention(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the attention weights with which a node's token was predicted.

        Returns:
            Weights on the decoder tokens so far, [L, H, P], and on the source tokens, [L, H, S].
        """
        node = self.nodes[index]
        return self.decoder[node.step][node.row], self.cross[node.step][node.row]


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation, or a language model's continuation of a text, with its decoding settings.

    Attributes:
        settings: decoding settings.
        prefix: ids of the tokens that the output was forced to begin with.
        suppressed: ids of the banned tokens.
        tokens: T generated tokens, including the end symbol; spans refer to `text`.
        text: text of `beginning` followed by `tokens`.
        log_prob: sum of the generated tokens' log-probabilities, nats.
        complete: False if the output reached the length limit before the end symbol.
        seconds: wall-clock decoding time, without the encoder.
        tree: search tree if `Translator.trace_decoding` ran a beam search; None otherwise.
        beginning: tokens of the text that a language model continued; spans refer to `text`.
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
    """Predictions that result from applying the final norm and the output layer to each decoder layer's output.

    The method is from nostalgebraist 2020, "interpreting GPT: the logit lens", and is applied to a decoder here. The
    last layer's prediction is the model's own.

    Attributes:
        candidate_ids: ids of the most likely next tokens, best first, [L, T, C].
        candidate_log_probs: log-probabilities of the candidates, nats, [L, T, C].
        taken: log-probability of the token chosen in decoding, nats, [L, T].
    """

    candidate_ids: np.ndarray
    candidate_log_probs: np.ndarray
    taken: np.ndarray

    def __post_init__(self) -> None:
        _lock(self.candidate_ids, self.candidate_log_probs, self.taken)


@dataclass(frozen=True, eq=False)
class TracedTranslation:
    """A translation with its trace, token ranks and logit lens.

    Attributes:
        translation: the translation.
        trace: trace of a model run on the source and the translation.
        ranks: rank of each generated token in the model's predicted distribution, int [T]; 1 is the most likely.
        logit_lens: predictions of each decoder layer.
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
