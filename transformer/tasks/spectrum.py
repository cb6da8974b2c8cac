"""The Fourier spectrum of the embeddings of numbers that are added modulo a prime; needs no torch."""

from __future__ import annotations

import numpy as np

# The number of frequencies that are summed: a model that calculates needs about so many.
FEW = 5


def fourier_spectrum(embedding: np.ndarray) -> np.ndarray:
    """The strength of each frequency in the embeddings of 0 .. p - 1.

    Every column is a function of the number. It is a sum of cosines and sines with k = 1 .. (p - 1) / 2 periods from 0
    to p. The norm of frequency k is that of its cosine and sine in all columns together. So the squares of all norms
    add up to the squared norm of the embeddings minus their mean (Nanda et al. 2023, "Progress Measures for Grokking
    via Mechanistic Interpretability", section 4.1).

    Args:
        embedding: [p, D], p odd.

    Returns:
        Norms of the frequencies from 1 on, float64 [(p - 1) / 2].
    """
    coefficients = np.fft.rfft(embedding.astype(np.float64), axis=0, norm="ortho")[1:]
    # Half of each wave is in the negative frequencies, which the transform of real numbers omits.
    return np.sqrt(2) * np.linalg.norm(coefficients, axis=1)


def largest(spectrum: np.ndarray) -> tuple[list[int], float]:
    """The FEW largest frequencies in ascending order, and their share of the squared norm of all.

    Args:
        spectrum: norms of the frequencies from 1.
    """
    places = np.sort(np.argsort(spectrum)[-FEW:])
    power = spectrum.astype(np.float64) ** 2
    return (places + 1).tolist(), float(power[places].sum() / power.sum())
