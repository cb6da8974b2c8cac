"""Properties of sinusoidal positional encodings: wavelengths, distances, and the rotation from one position to another.

Source: "Attention Is All You Need", section 3.5. The encodings themselves are computed in
`transformer.model.sinusoids`. Arrays are float64, for P positions and D dimensions.
"""

from dataclasses import dataclass

import numpy as np

from transformer.model.sinusoids import frequencies, sine_and_cosine_dimensions


@dataclass(frozen=True, eq=False)
class Offsets:
    """A [P, P] matrix of values for pairs of positions, summarised by the distance between the two positions.

    Attributes:
        offsets: distances between two positions, 0 to P - 1.
        mean: mean value at each distance, [P].
        spread: largest minus smallest value at each distance, [P]; 0 if the value depends only on the distance.
    """

    offsets: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def wavelengths(d_model: int) -> np.ndarray:
    """Return the wavelength of each (sine, cosine) pair, in positions, [D / 2], from 2 pi towards 10000 * 2 pi."""
    return 2 * np.pi / frequencies(d_model)


def halves_order(d_model: int) -> np.ndarray:
    """Return the permutation, [D], that turns alternating sines and cosines into all sines followed by all cosines.

    Apply the permutation as `interleaved[:, order]`. The inverse is `order.argsort()`.
    """
    return np.concatenate(sine_and_cosine_dimensions(d_model, halves=False))


def dropout(table: np.ndarray, *, rate: float, seed: int) -> np.ndarray:
    """Return a copy with random values set to 0 and the rest scaled up, as in training (Srivastava et al. 2014).

    Args:
        table: any array.
        rate: probability that a value is set to 0, at least 0 and below 1.
        seed: random seed.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"the dropout rate must be at least 0 and below 1, not {rate}")
    keep = np.random.default_rng(seed).random(table.shape) >= rate
    return np.where(keep, table / (1 - rate), 0.0)


def dot_products(table: np.ndarray) -> np.ndarray:
    """Return the dot product of every pair of positions, [P, D] to [P, P]."""
    return table @ table.T


def distances(table: np.ndarray) -> np.ndarray:
    """Return the Euclidean distance between every pair of positions, [P, D] to [P, P]."""
    # Distances computed from dot products would lose half their digits where vectors are close,
    # so subtract the vectors.
    return np.stack([np.linalg.norm(table - position, axis=1) for position in table])


def by_offset(matrix: np.ndarray) -> Offsets:
    """Summarise a symmetric matrix, [P, P], along each diagonal."""
    diagonals = [np.diagonal(matrix, offset) for offset in range(len(matrix))]
    return Offsets(
        offsets=np.arange(len(matrix)),
        mean=np.array([diagonal.mean() for diagonal in diagonals]),
        spread=np.array([np.ptp(diagonal) for diagonal in diagonals]),
    )


def rotation(offset: int, d_model: int, *, halves: bool = False) -> np.ndarray:
    """Return the matrix M, [D, D], that shifts any positional encoding by an offset: M @ PE[p] = PE[p + offset].

    M rotates each (sin, cos) pair by the offset times the pair's frequency. M is therefore orthogonal: the transpose is
    the inverse. Section 3.5 of "Attention Is All You Need" claims that such a linear map exists.

    Args:
        offset: number of positions; may be negative.
        d_model: model width D, an even number.
        halves: whether the encoding has all sines first and then all cosines, rather than alternating.
    """
    angles = offset * frequencies(d_model)
    sines, cosines = sine_and_cosine_dimensions(d_model, halves=halves)
    matrix = np.zeros((d_model, d_model))
    matrix[sines, sines] = matrix[cosines, cosines] = np.cos(angles)
    matrix[sines, cosines] = np.sin(angles)
    matrix[cosines, sines] = -np.sin(angles)
    return matrix


def binary_counter(length: int, bits: int) -> np.ndarray:
    """Return the binary digits of positions 0 to P - 1, uint8 [P, bits], least significant bit first.

    Bit b has a period of 2^(b + 1) positions, so the fastest digit comes first, as in sinusoidal encodings.
    """
    return (np.arange(length)[:, None] >> np.arange(bits) & 1).astype(np.uint8)
