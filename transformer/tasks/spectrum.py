"""The Fourier spectrum of the embeddings of numbers that are added modulo one of them. No torch."""

from __future__ import annotations

import numpy as np

# The frequencies that are looked at together: a model that calculates needs about so many.
FEW = 5


def fourier_spectrum(embedding: np.ndarray) -> np.ndarray:
    """How much of the embeddings of 0 .. p - 1 is a wave of each frequency.

    Every column is a function of the number, and a sum of cosines and sines that go k = 1 .. (p - 1) / 2 times up and
    down from 0 to p. The norm of frequency k is that of its part of all columns, cosine and sine together, so the
    squares of all norms add up to the squared norm of the embeddings less their mean (Nanda et al. 2023, "Progress
    Measures for Grokking via Mechanistic Interpretability", section 4.1).

    Args:
        embedding: [p, D], p odd.

    Returns:
        Norms, float64 [(p - 1) / 2], those of frequencies 1 and up.
    """
    coefficients = np.fft.rfft(embedding.astype(np.float64), axis=0, norm="ortho")[1:]
    # Half of each wave is in the negative frequencies, which the transform of real numbers leaves out.
    return np.sqrt(2) * np.linalg.norm(coefficients, axis=1)


def largest(spectrum: np.ndarray) -> tuple[list[int], float]:
    """The FEW largest frequencies in ascending order, and their share of the squared norm of all.

    Args:
        spectrum: norms of the frequencies from 1.
    """
    places = np.sort(np.argsort(spectrum)[-FEW:])
    power = spectrum.astype(np.float64) ** 2
    return (places + 1).tolist(), float(power[places].sum() / power.sum())
