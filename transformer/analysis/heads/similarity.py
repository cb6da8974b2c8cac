"""Measures how similarly two attention heads attend."""

import numpy as np

from transformer.analysis.heads.pattern import row_entropy


def jensen_shannon(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the Jensen-Shannon divergences, [...] in nats (0 to ln 2), of two arrays of distributions, [..., K]."""
    divergence = row_entropy((first + second) / 2) - (row_entropy(first) + row_entropy(second)) / 2
    return np.maximum(divergence, 0.0)


def head_distances(weights: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Measure how differently each pair of heads attends, within one model or between two, in nats (0 to ln 2).

    The distance is the Jensen-Shannon divergence averaged over rows. Clark et al. 2019 ("What Does BERT Look At?",
    section 6) sum over rows instead. The mean makes sentences of different lengths comparable, and changes only the
    scale of a layout or dendrogram.

    Args:
        weights: attention weights of one attention kind, [L, H, Q, K]; rows sum to 1.
        others: a second model's weights, [M, G, Q, K], with the same rows and columns; None compares the heads of
            `weights` with each other.

    Returns:
        float64 [L * H, M * G], symmetric for one model; head h of layer l has the index l * H + h.
    """
    heads = weights.reshape(-1, *weights.shape[2:]).astype(np.float64)
    if others is not None:
        against = others.reshape(-1, *others.shape[2:]).astype(np.float64)
        return np.stack([jensen_shannon(head, against).mean(axis=-1) for head in heads])
    distances = np.zeros((len(heads), len(heads)))
    for head in range(len(heads) - 1):
        # Compare one head at a time with all later heads. All pairs at once would need gigabytes for a long sentence.
        row = jensen_shannon(heads[head], heads[head + 1 :]).mean(axis=-1)
        distances[head, head + 1 :] = distances[head + 1 :, head] = row
    return distances
