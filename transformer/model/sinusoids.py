"""Sinusoidal positional encodings ("Attention Is All You Need", section 3.5), in numpy float64.

The model adds the encodings in float32 (`transformer.model.positions`); `transformer.analysis.positions` measures them.
"""

import numpy as np


def frequencies(d_model: int) -> np.ndarray:
    """Return the angle, in radians, by which each dimension pair i turns per position: 10000^(-2i / D), [D / 2].

    Raises:
        ValueError: D is odd or below 2, so the dimensions cannot form pairs of sine and cosine.
    """
    if d_model < 2 or d_model % 2:
        raise ValueError(f"sinusoidal positions need an even width of at least 2, not {d_model}")
    return 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)


def fairseq_sinusoids(length: int, d_model: int) -> np.ndarray:
    """Return the encoding of fairseq's models, float64 [P, D]: all sines, then all cosines.

    The lowest frequency is exactly 10000^-1. The first token has position 2, because 0 and 1 are reserved.
    """
    pairs = len(frequencies(d_model))
    angles = np.arange(2, length + 2)[:, None] * 10_000.0 ** (-np.arange(pairs) / max(pairs - 1, 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def sinusoids(length: int, d_model: int, *, halves: bool = False) -> np.ndarray:
    """Return the encoding of positions 0 to P - 1, float64 [P, D]: sines and cosines of position times frequency.

    Args:
        length: number of positions P.
        d_model: even width D.
        halves: whether all sines come before all cosines. Otherwise, sines and cosines alternate.
    """
    # Angles are float64, because float32 angles are wrong in the fifth decimal place at position 500.
    angles = np.arange(length)[:, None] * frequencies(d_model)
    table = np.empty((length, d_model))
    sines, cosines = sine_and_cosine_dimensions(d_model, halves=halves)
    table[:, sines], table[:, cosines] = np.sin(angles), np.cos(angles)
    return table


def sine_and_cosine_dimensions(d_model: int, *, halves: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the sine and the cosine dimensions, [D / 2] each, shortest wavelength first."""
    dimensions = np.arange(d_model)
    if halves:
        return dimensions[: d_model // 2], dimensions[d_model // 2 :]
    return dimensions[0::2], dimensions[1::2]
