"""ALiBi: biases that lower the scores in proportion to the distance, instead of vectors added to the embeddings.

Press et al. 2022, "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation".
"""

import numpy as np


def slopes(heads: int) -> np.ndarray:
    """Return each head's slope [H], the decrease in a score per position of distance.

    If H is a power of two, the slopes form a geometric sequence with first term and ratio 2^(-8 / H) (Press et al.
    2022, section 3). Otherwise, they follow the ALiBi authors' code: first the slopes for the next smaller power of
    two, then every second slope for the next larger one.

    Raises:
        ValueError: `heads` is less than 1.
    """
    if heads < 1:
        raise ValueError(f"there must be at least one head, not {heads}")
    power = 1 << heads.bit_length() - 1
    between = _geometric(2 * power)[0::2]
    return np.concatenate([_geometric(power), between[: heads - power]])


def biases(heads: int, length: int) -> np.ndarray:
    """Return the biases added to each head's scores, [H, T, T]: minus slope times distance.

    ALiBi was defined for masked self-attention, where keys are never later than the query. For later keys, this
    function uses the symmetric form, which the authors of ALiBi suggest for encoders.

    Args:
        heads: number of heads H.
        length: number of positions T.
    """
    return distance_biases(slopes(heads), length)


def distance_biases(slopes: np.ndarray, length: int) -> np.ndarray:
    """Return the biases [H, T, T] for given slopes [H]."""
    positions = np.arange(length)
    return -slopes[:, None, None] * np.abs(positions[:, None] - positions)


def _geometric(heads: int) -> np.ndarray:
    """Return the slopes [H] for a number of heads that is a power of two."""
    return 2.0 ** (-8 / heads * np.arange(1, heads + 1))
