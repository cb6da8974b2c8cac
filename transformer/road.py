"""One way through all that could have been said: how it was found, and what was computed along it.

Letters: L decoder layers, H heads, S source pieces, T steps, N hypotheses of a step, P pieces read so far,
C candidates.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.decoding import ALPHA, MAX_SIZE, MIN_TEMPERATURE, Fate, Node
from transformer.tokenizer import Piece
from transformer.trace import Trace

__all__ = [
    "MAX_SIZE", "METHODS", "MIN_TEMPERATURE", "Fate", "Found", "LayerPredictions", "Method", "Node", "Road",
    "SearchTree", "Way",
]

Method = Literal["greedy", "beam", "sample"]
METHODS: tuple[Method, ...] = ("greedy", "beam", "sample")


@dataclass(frozen=True)
class Way:
    """How the next piece is chosen; the searches of `transformer.decoding` say what each setting may be. Those of the
    other methods have no effect.

    Attributes:
        method: always the likeliest piece; the best few hypotheses side by side; or drawn at random.
        size: hypotheses of the beam.
        alpha: of the beam's length penalty; 0 for none.
        temperature: of sampling; below 1 sharpens, above 1 flattens.
        top_k: draw from this many of the likeliest pieces; 0 from all.
        top_p: draw from the likeliest pieces that together have this probability, above 0, at most 1.
        seed: of the draws.
    """

    method: Method = "greedy"
    size: int = 4
    alpha: float = ALPHA
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1


@dataclass(frozen=True, eq=False)
class SearchTree:
    """All that a beam search looked at.

    Attributes:
        nodes: every expansion, step by step, best score first within a step.
        cutoffs: for each step the least score among those that were not pruned, nats.
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
        """Where the model looked when it considered this node's piece: [L, H, P] and [L, H, S]."""
        node = self.nodes[index]
        return self.decoder[node.step][node.row], self.cross[node.step][node.row]


@dataclass(frozen=True, eq=False)
class Found:
    """A translation, and how it was found.

    Attributes:
        way: how its pieces were chosen.
        forced: ids that it had to begin with.
        never: ids that were not to be taken.
        pieces: T pieces, the end symbol included.
        text: what they spell.
        log_prob: sum of what the model gives the pieces, nats.
        complete: False if the limit on length ended it before its end symbol.
        seconds: wall-clock time of the search, the encoder's not included.
        tree: of a beam search, with the attention rows of all hypotheses; None otherwise.
    """

    way: Way
    forced: tuple[int, ...]
    never: Set[int]
    pieces: tuple[Piece, ...]
    text: str
    log_prob: float
    complete: bool
    seconds: float
    tree: SearchTree | None


@dataclass(frozen=True, eq=False)
class LayerPredictions:
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
class Road:
    """A translation with everything that was computed along it.

    Attributes:
        found: the translation.
        trace: of the decoder reading it.
        ranks: place of each piece taken among all of the vocabulary, 1 is the likeliest, int [T].
        layers: what each decoder layer would have predicted.
    """

    found: Found
    trace: Trace
    ranks: np.ndarray
    layers: LayerPredictions

    def __post_init__(self) -> None:
        _lock(self.ranks)


def _lock(*arrays: np.ndarray) -> None:
    """Make arrays read-only: readers share them."""
    for array in arrays:
        array.setflags(write=False)
