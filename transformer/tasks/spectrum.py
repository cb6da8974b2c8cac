"""Fourier spectrum of number embeddings in modular addition; does not need torch."""

import numpy as np

# Number of strongest frequencies to report; a model that has learned modular addition uses about this many.
TOP_FREQUENCIES = 5


def fourier_spectrum(embedding: np.ndarray) -> np.ndarray:
    """Return the strength of each frequency in the embeddings of the numbers 0 to p - 1.

    Each embedding column is a function of the number, and therefore a sum of cosines and sines. Frequency k has k
    periods from 0 to p, for k = 1 to (p - 1) / 2. A frequency's strength is the norm of its cosine and sine
    coefficients in all columns. The squared strengths add up to the squared norm of the mean-centred embeddings.
    Source: Nanda et al. 2023, "Progress Measures for Grokking via Mechanistic Interpretability", section 4.1.

    Args:
        embedding: embeddings [p, D]; p is odd.

    Returns:
        Strength of each frequency, starting with frequency 1, float64 [(p - 1) / 2].
    """
    coefficients = np.fft.rfft(embedding.astype(np.float64), axis=0, norm="ortho")[1:]
    # For real input, rfft omits the negative frequencies, which carry half of each wave's power.
    return np.sqrt(2) * np.linalg.norm(coefficients, axis=1)


def largest(spectrum: np.ndarray) -> tuple[list[int], float]:
    """Return the TOP_FREQUENCIES strongest frequencies in ascending order, and their share of the total power, 0 to 1.

    Args:
        spectrum: strength of each frequency, starting with frequency 1.
    """
    places = np.sort(np.argsort(spectrum)[-TOP_FREQUENCIES:])
    power = spectrum.astype(np.float64) ** 2
    return (places + 1).tolist(), float(power[places].sum() / power.sum())
