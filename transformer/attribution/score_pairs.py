"""Explains why a head attends to a position, by splitting the attention score into pairs of model components.

A score is the scaled dot product of a query and a key. If norm scales are held constant, the query and the key are
each a sum over the components that wrote to a residual stream. The score is therefore a sum over pairs of components
(Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section "QK circuits").
"""

import math
from dataclasses import dataclass

import numpy as np

from transformer.attribution.frozen_layers import FrozenNorm, FrozenRun, Streams, SubLayerId
from transformer.model.encodings import NO_POSITIONS, relative_positions, turn
from transformer.values.trace import Kind

# A pair (sub-layer, 0-based head). If the sub-layer is None, the second entry is 0 for the embedding, 1 for the
# positional encoding and 2 for the biases.
Writer = tuple[SubLayerId | None, int]
BIASES: Writer = (None, 2)


@dataclass(frozen=True, eq=False)
class ScorePairs:
    """One attention score, split into a term for each pair of components; float64.

    Attributes:
        query_parts: the A terms of the query: the components that wrote to the query's stream, then the biases.
        key_parts: the B terms of the key: the components that wrote to the key's stream, then the biases.
        scores: contribution of each pair, [A, B].
        distance: relative-position bias added to the score; 0 if there is no such bias.
    """

    query_parts: tuple[Writer, ...]
    key_parts: tuple[Writer, ...]
    scores: np.ndarray
    distance: float

    @property
    def total(self) -> float:
        """The attention score: the sum over all pairs, plus the relative-position bias."""
        return float(self.scores.sum()) + self.distance

    def largest(self, count: int) -> tuple[list[Writer | None], list[Writer | None], np.ndarray]:
        """Keep the `count` largest query terms and the `count` largest key terms, and merge the others.

        Returns:
            Query terms, key terms, and their scores, whose sum does not change. None stands for the merged terms, which
            are in the last row and the last column.
        """
        rows = _largest_groups(abs(self.scores).sum(axis=1), count)
        columns = _largest_groups(abs(self.scores).sum(axis=0), count)
        row_sums = np.add.reduceat(self.scores[np.concatenate(rows)], _group_starts(rows), axis=0)
        row_sums = np.add.reduceat(row_sums[:, np.concatenate(columns)], _group_starts(columns), axis=1)
        query = [self.query_parts[row[0]] if len(row) == 1 else None for row in rows]
        return query, [self.key_parts[column[0]] if len(column) == 1 else None for column in columns], row_sums


def score_pairs(run: FrozenRun, kind: Kind, layer: int, head: int, query: int, key: int) -> ScorePairs:
    """Split one attention score into a term for each pair of components; layer, head and positions are 0-based."""
    place = SubLayerId(
        "encoder" if kind == "encoder" else "decoder", layer, "cross_attention" if kind == "cross" else "self_attention"
    )
    streams, frozen = run.streams_before(place), run.at(place)
    projections = run.weights.attention(kind, layer)
    looking = _stream_parts(streams[place.stack], frozen.query_norm, query) @ projections.query[head]
    key_vectors = _stream_parts(streams[place.reads], frozen.read, key) @ projections.key[head]
    looking[-1] += projections.query_bias[head]
    key_vectors[-1] += projections.key_bias[head]
    relative, distance = NO_POSITIONS, 0.0
    if kind != "cross":
        relative = relative_positions(run.weights.config, len(run.last[place.stack]))
    if relative.angles is not None:
        looking, key_vectors = (
            turn(part, np.broadcast_to(relative.angles[at], (len(part), part.shape[1] // 2)))
            for part, at in ((looking, query), (key_vectors, key))
        )
    if relative.biases is not None:
        distance = float(relative.biases[head, query, key])
    names = (*streams[place.stack].names, BIASES), (*streams[place.reads].names, BIASES)
    return ScorePairs(*names, looking @ key_vectors.T / math.sqrt(key_vectors.shape[1]), distance)


def _stream_parts(streams: Streams, norm: FrozenNorm, position: int) -> np.ndarray:
    """Split the normalised stream at a position into each component's part, followed by the biases, [W + 1, D]."""
    biases = norm.linear(streams.constant[position], position) + norm.bias
    return np.concatenate((norm.linear(streams.writers[:, position], position), biases[None]))


def _largest_groups(sizes: np.ndarray, count: int) -> list[np.ndarray]:
    """Return groups of indices: one for each of the `count` largest sizes, in index order, then one for all others."""
    order = np.argsort(-sizes, kind="stable")
    alone = [np.array([each]) for each in sorted(order[:count])]
    return alone + ([order[count:]] if len(order) > count else [])


def _group_starts(groups: list[np.ndarray]) -> np.ndarray:
    return np.cumsum([0, *(len(group) for group in groups[:-1])])
