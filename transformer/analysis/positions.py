"""What sinusoidal positional encodings are made of, and what they measure.

"Attention Is All You Need", section 3.5. All in float64: these are the numbers to show and to prove things with; the
model adds the same table in float32 (`transformer.model.positions`). P positions, D dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Offsets:
    """A matrix between positions, read along its diagonals.

    Attributes:
        offsets: 0 to P - 1.
        mean: over all pairs of positions that far apart, [P].
        spread: largest value minus smallest among those pairs, [P]; 0 where only the offset counts.
    """

    offsets: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def frequencies(d_model: int) -> np.ndarray:
    """Radians that each pair of dimensions turns from one position to the next, 10000^(-2i / D), [D / 2].

    Raises:
        ValueError: D is odd, or below 2: sines and cosines come in pairs.
    """
    if d_model < 2 or d_model % 2:
        raise ValueError(f"sinusoidal positions need an even width of at least 2, not {d_model}")
    return 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)


def wavelengths(d_model: int) -> np.ndarray:
    """Positions until each pair of dimensions has turned once, [D / 2]: from 2 pi towards 10000 * 2 pi."""
    return 2 * np.pi / frequencies(d_model)


def sinusoids(length: int, d_model: int, *, halves: bool = False) -> np.ndarray:
    """The encoding of positions 0 to P - 1, [P, D].

    Args:
        length: number of positions P.
        d_model: even width D.
        halves: all sines, then all cosines, instead of sin, cos, sin, cos.
    """
    angles = np.arange(length)[:, None] * frequencies(d_model)
    table = np.empty((length, d_model))
    sines, cosines = _columns(d_model, halves=halves)
    table[:, sines], table[:, cosines] = np.sin(angles), np.cos(angles)
    return table


def halves_order(d_model: int) -> np.ndarray:
    """The interleaved dimension that each dimension in halves is, [D]: `interleaved[:, order]` is in halves.

    `order.argsort()` leads back.
    """
    return np.concatenate(_columns(d_model, halves=False))


def dropout(table: np.ndarray, *, rate: float, seed: int) -> np.ndarray:
    """Set a share of the values to 0 and scale the others up, as in training (Srivastava et al. 2014).

    Args:
        table: any array.
        rate: chance of each value to be dropped, at least 0 and below 1.
        seed: of the random choice.
    """
    if not 0 <= rate < 1:
        raise ValueError(f"the rate of dropout must be at least 0 and below 1, not {rate}")
    kept = np.random.default_rng(seed).random(table.shape) >= rate
    return np.where(kept, table / (1 - rate), 0.0)


def dot_products(table: np.ndarray) -> np.ndarray:
    """Of every position with every other, [P, D] to [P, P]."""
    return table @ table.T


def distances(table: np.ndarray) -> np.ndarray:
    """Euclidean, of every position from every other, [P, D] to [P, P]."""
    # From the differences: the short way over dot products loses half of the digits of a small distance.
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

    Each pair (sin, cos) is turned by offset times its frequency, so M is orthogonal: its transpose leads back.
    Section 3.5 of the paper claims that there is such a map; this is it.

    Args:
        offset: positions to go; negative ones go back.
        d_model: even width D.
        halves: for the encoding in halves.
    """
    angles = offset * frequencies(d_model)
    sines, cosines = _columns(d_model, halves=halves)
    matrix = np.zeros((d_model, d_model))
    matrix[sines, sines] = matrix[cosines, cosines] = np.cos(angles)
    matrix[sines, cosines] = np.sin(angles)
    matrix[cosines, sines] = -np.sin(angles)
    return matrix


def binary_counter(length: int, bits: int) -> np.ndarray:
    """The digits of 0 to P - 1 in base two, uint8 [P, bits], the fastest first as in the encoding.

    Bit b has a wavelength of 2^(b + 1) positions.
    """
    return (np.arange(length)[:, None] >> np.arange(bits) & 1).astype(np.uint8)


def _columns(d_model: int, *, halves: bool) -> tuple[np.ndarray, np.ndarray]:
    """Dimensions of the sines and of the cosines, [D / 2] each, the shortest wavelength first."""
    dimensions = np.arange(d_model)
    if halves:
        return dimensions[: d_model // 2], dimensions[d_model // 2 :]
    return dimensions[0::2], dimensions[1::2]
