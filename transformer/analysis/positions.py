"""Analyses sinusoidal positional encodings: wavelengths, distances, and the rotation between two positions.

See "Attention Is All You Need", section 3.5. `transformer.model.sinusoids` computes the encodings themselves. All
numbers are float64. Letters: P positions, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.model.sinusoids import frequencies, sine_and_cosine_dimensions


@dataclass(frozen=True, eq=False)
class Offsets:
    """Values of a position-by-position matrix, grouped by the offset between both positions.

    Attributes:
        offsets: distances in positions, 0 to P - 1.
        mean: mean over all pairs of positions with each offset, [P].
        spread: largest minus smallest value among these pairs, [P]; 0 if the value depends only on the offset.
    """

    offsets: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def wavelengths(d_model: int) -> np.ndarray:
    """Return the wavelength of each pair of dimensions, in positions, [D / 2]: from 2 pi towards 10000 * 2 pi."""
    return 2 * np.pi / frequencies(d_model)


def halves_order(d_model: int) -> np.ndarray:
    """Return the order of dimensions, [D], that converts an interleaved encoding to one in halves.

    Interleaved encodings alternate sines and cosines; encodings in halves have all sines first. `interleaved[:, order]`
    is in halves, and `order.argsort()` is the inverse.
    """
    return np.concatenate(sine_and_cosine_dimensions(d_model, halves=False))


def dropout(table: np.ndarray, *, rate: float, seed: int) -> np.ndarray:
    """Set random values to 0 and scale all others up, as in training (Srivastava et al. 2014).

    Args:
        table: any array.
        rate: probability that a value is set to 0, at least 0 and below 1.
        seed: seed of the random choice.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"the rate of dropout must be at least 0 and below 1, not {rate}")
    keep = np.random.default_rng(seed).random(table.shape) >= rate
    return np.where(keep, table / (1 - rate), 0.0)


def dot_products(table: np.ndarray) -> np.ndarray:
    """Return the dot product between any two positions, [P, D] to [P, P]."""
    return table @ table.T


def distances(table: np.ndarray) -> np.ndarray:
    """Return the Euclidean distance between any two positions, [P, D] to [P, P]."""
    # Subtract the vectors, because a small distance computed from dot products would lose half of its digits.
    return np.stack([np.linalg.norm(table - position, axis=1) for position in table])


def by_offset(matrix: np.ndarray) -> Offsets:
    """Average a symmetric position-by-position matrix, [P, P], over each offset."""
    diagonals = [np.diagonal(matrix, offset) for offset in range(len(matrix))]
    return Offsets(
        offsets=np.arange(len(matrix)),
        mean=np.array([diagonal.mean() for diagonal in diagonals]),
        spread=np.array([np.ptp(diagonal) for diagonal in diagonals]),
    )


def rotation(offset: int, d_model: int, *, halves: bool = False) -> np.ndarray:
    """Return the matrix M [D, D] that moves any position by the offset: M @ PE[p] = PE[p + offset].

    M rotates each (sin, cos) pair by the offset times the pair's frequency. M is therefore orthogonal, and its inverse
    is its transpose. Section 3.5 of the paper states that such a linear map exists.

    Args:
        offset: number of positions; may be negative.
        d_model: model width D, an even number.
        halves: whether the encoding has all sines first, then all cosines, instead of alternating them.
    """
    angles = offset * frequencies(d_model)
    sines, cosines = sine_and_cosine_dimensions(d_model, halves=halves)
    matrix = np.zeros((d_model, d_model))
    matrix[sines, sines] = matrix[cosines, cosines] = np.cos(angles)
    matrix[sines, cosines] = np.sin(angles)
    matrix[cosines, sines] = -np.sin(angles)
    return matrix


def binary_counter(length: int, bits: int) -> np.ndarray:
    """Return the binary digits of positions 0 to P - 1, uint8 [P, bits], fastest digit first as in the encoding.

    Bit b repeats every 2^(b + 1) positions.
    """
    return (np.arange(length)[:, None] >> np.arange(bits) & 1).astype(np.uint8)
