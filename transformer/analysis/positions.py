"""The components of sinusoidal positional encodings, and their distances.

See "Attention Is All You Need", section 3.5; the encodings themselves are in `transformer.model.sinusoids`. All numbers
are float64. Letters: P positions, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.model.sinusoids import frequencies, sine_and_cosine_dimensions


@dataclass(frozen=True, eq=False)
class Offsets:
    """A matrix between positions, read along its diagonals.

    Attributes:
        offsets: 0 to P - 1.
        mean: over all pairs of positions at that offset, [P].
        spread: largest value minus smallest among those pairs, [P]; 0 if only the offset counts.
    """

    offsets: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def wavelengths(d_model: int) -> np.ndarray:
    """Number of positions in which each pair of dimensions turns once, [D / 2]: from 2 pi towards 10000 * 2 pi."""
    return 2 * np.pi / frequencies(d_model)


def halves_order(d_model: int) -> np.ndarray:
    """The interleaved dimension of each dimension in halves, [D]: `interleaved[:, order]` is in halves.

    `order.argsort()` is the inverse.
    """
    return np.concatenate(sine_and_cosine_dimensions(d_model, halves=False))


def dropout(table: np.ndarray, *, rate: float, seed: int) -> np.ndarray:
    """Set a share of the values to 0 and scale the others up, as in training (Srivastava et al. 2014).

    Args:
        table: any array.
        rate: chance of each value to be dropped, at least 0 and below 1.
        seed: of the random choice.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"the rate of dropout must be at least 0 and below 1, not {rate}")
    keep = np.random.default_rng(seed).random(table.shape) >= rate
    return np.where(keep, table / (1 - rate), 0.0)


def dot_products(table: np.ndarray) -> np.ndarray:
    """The dot product of every position with every other, [P, D] to [P, P]."""
    return table @ table.T


def distances(table: np.ndarray) -> np.ndarray:
    """The Euclidean distance of every position from every other, [P, D] to [P, P]."""
    # The differences give exact distances; from dot products, a small distance would lose half of its digits.
    return np.stack([np.linalg.norm(table - position, axis=1) for position in table])


def by_offset(matrix: np.ndarray) -> Offsets:
    """Read a symmetric matrix between positions [P, P] by the offset between them."""
    diagonals = [np.diagonal(matrix, offset) for offset in range(len(matrix))]
    return Offsets(
        offsets=np.arange(len(matrix)),
        mean=np.array([diagonal.mean() for diagonal in diagonals]),
        spread=np.array([np.ptp(diagonal) for diagonal in diagonals]),
    )


def rotation(offset: int, d_model: int, *, halves: bool = False) -> np.ndarray:
    """The linear map M [D, D] that takes any position to the one `offset` further: M @ PE[p] = PE[p + offset].

    Each pair (sin, cos) is turned by offset times its frequency, so M is orthogonal: its transpose is the inverse.
    Section 3.5 of the paper states that there is such a map.

    Args:
        offset: in positions; may be negative.
        d_model: even width D.
        halves: for the encoding in halves.
    """
    angles = offset * frequencies(d_model)
    sines, cosines = sine_and_cosine_dimensions(d_model, halves=halves)
    matrix = np.zeros((d_model, d_model))
    matrix[sines, sines] = matrix[cosines, cosines] = np.cos(angles)
    matrix[sines, cosines] = np.sin(angles)
    matrix[cosines, sines] = -np.sin(angles)
    return matrix


def binary_counter(length: int, bits: int) -> np.ndarray:
    """The binary digits of 0 to P - 1, uint8 [P, bits], the fastest first as in the encoding.

    Bit b has a wavelength of 2^(b + 1) positions.
    """
    return (np.arange(length)[:, None] >> np.arange(bits) & 1).astype(np.uint8)
