"""Computes the Fourier spectrum of embeddings of numbers that are added modulo a prime; needs no torch."""

from __future__ import annotations

import numpy as np

# Number of frequencies to sum; a model that calculates uses about this many.
TOP_FREQUENCIES = 5


def fourier_spectrum(embedding: np.ndarray) -> np.ndarray:
    """Return the strength of each frequency in the embeddings of the numbers 0 to p - 1.

    Each column of the embeddings is a function of the number, and a sum of cosines and sines. Frequency k has k periods
    from 0 to p, for k = 1 to (p - 1) / 2. Its norm is taken over its cosines and sines in all columns. The squared
    norms add up to the squared norm of the embeddings after their mean is subtracted. Source: Nanda et al. 2023,
    "Progress Measures for Grokking via Mechanistic Interpretability", section 4.1.

    Args:
        embedding: embeddings [p, D]; p is odd.

    Returns:
        Norm of each frequency, starting with 1, float64 [(p - 1) / 2].
    """
    coefficients = np.fft.rfft(embedding.astype(np.float64), axis=0, norm="ortho")[1:]
    # The transform of real numbers omits the negative frequencies, which contain half of each wave.
    return np.sqrt(2) * np.linalg.norm(coefficients, axis=1)


def largest(spectrum: np.ndarray) -> tuple[list[int], float]:
    """Return the FEW strongest frequencies, in ascending order, and their share, 0 to 1, of all squared norms.

    Args:
        spectrum: norm of each frequency, starting with 1.
    """
    places = np.sort(np.argsort(spectrum)[-TOP_FREQUENCIES:])
    power = spectrum.astype(np.float64) ** 2
    return (places + 1).tolist(), float(power[places].sum() / power.sum())
