"""The results of decoding: a translation, the tree of its beam search, and everything computed for it.

Letters: L decoder layers, H heads, S source pieces, T steps, N hypotheses of a step, P pieces read so far,
C candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from transformer.values.decoding_settings import DecodingSettings
from transformer.values.pieces import Piece
from transformer.values.trace import Trace


class Fate(IntEnum):
    """What became of a hypothesis when one more piece was taken."""

    PRUNED = 0
    ALIVE = 1
    ENDED = 2
    # Good enough to go on, but the search was over.
    UNFINISHED = 3


@dataclass(frozen=True)
class Node:
    """One expansion of a beam search: a hypothesis with one more piece.

    Attributes:
        parent: index of the node that it continues; None after the start symbol.
        step: the step that predicted its piece, from 0.
        row: which of that step's N hypotheses it continues.
        piece: id.
        log_prob: of the piece, nats.
        rank: of the piece in its parent's distribution; 1 is the likeliest.
        score: sum of the log-probabilities from the start symbol to here, nats.
        penalised: score over the length penalty.
        place: among all expansions of its step by score, from 0.
        fate: what became of it.
    """

    parent: int | None
    step: int
    row: int
    piece: int
    log_prob: float
    rank: int
    score: float
    penalised: float
    place: int
    fate: Fate


@dataclass(frozen=True, eq=False)
class SearchTree:
    """Everything that a beam search considered.

    Attributes:
        nodes: every expansion, step by step, best score first within a step.
        cutoffs: for each step the lowest score among those that were not pruned, nats. An expansion below it was
            pruned; one above it only if it ends and its place was too low to do so.
        best: indices of the nodes of the best hypothesis, from the first piece to the last.
        decoder: for each step the attention rows of its hypotheses over the pieces they read, [N, L, H, P].
        cross: for each step their rows over the source, [N, L, H, S].
    """

    nodes: tuple[Node, ...]
    cutoffs: tuple[float, ...]
    best: tuple[int, ...]
    decoder: tuple[np.ndarray, ...]
    cross: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        _lock(*self.decoder, *self.cross)

    def rows(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Attention of the step that predicted a node's piece, over the pieces read and over the source: [L, H, P] and
        [L, H, S]."""
        node = self.nodes[index]
        return self.decoder[node.step][node.row], self.cross[node.step][node.row]


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation, or what a language model wrote after a beginning, and how it was decoded.

    Attributes:
        settings: how its pieces were chosen.
        prefix: ids that it had to begin with.
        suppressed: ids that were not to be taken.
        pieces: T tokens written, the end symbol included; spans refer to `text`.
        text: what they spell, the beginning before them.
        log_prob: sum of the model's log-probabilities of the pieces, nats.
        complete: False if the limit on length ended it before its end symbol.
        seconds: wall-clock time of decoding, the encoder's not included.
        tree: of a beam search by `Translator.trace_decoding`; None otherwise.
        beginning: tokens that a language model went on from; spans refer to `text`.
    """

    settings: DecodingSettings
    prefix: tuple[int, ...]
    suppressed: frozenset[int]
    pieces: tuple[Piece, ...]
    text: str
    log_prob: float
    complete: bool
    seconds: float
    tree: SearchTree | None
    beginning: tuple[Piece, ...] = ()


@dataclass(frozen=True, eq=False)
class LogitLens:
    """What each decoder layer alone would predict: its output through the final norm and the output layer.

    nostalgebraist 2020, "interpreting GPT: the logit lens", for the decoder of an encoder-decoder model. The last
    layer's are the model's own.

    Attributes:
        candidate_ids: the likeliest next pieces, best first, [L, T, C].
        candidate_log_probs: nats, [L, T, C].
        taken: log-probability of the piece that was taken, nats, [L, T].
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
        trace: of the decoder reading it.
        ranks: rank of each piece taken in the model's distribution, 1 is the likeliest, int [T].
        logit_lens: what each decoder layer alone would have predicted.
    """

    translation: Translation
    trace: Trace
    ranks: np.ndarray
    logit_lens: LogitLens

    def __post_init__(self) -> None:
        _lock(self.ranks)


def _lock(*arrays: np.ndarray) -> None:
    """Make arrays read-only: callers share them."""
    for array in arrays:
        array.setflags(write=False)
