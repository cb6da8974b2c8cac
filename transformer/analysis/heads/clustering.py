"""Hierarchical clustering from pairwise distances."""

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform


def average_linkage(distances: np.ndarray) -> np.ndarray:
    """Cluster items by average linkage (UPGMA): repeatedly merge the two clusters with the smallest mean distance.

    Args:
        distances: pairwise distances, [N, N], symmetric, 0 on the diagonal, N at least 1.

    Returns:
        Linkage matrix, [N - 1, 4], in the format of `scipy.cluster.hierarchy.linkage`.
    """
    if len(distances) < 2:
        return np.zeros((0, 4))
    return hierarchy.average(squareform(distances, checks=False))


def leaf_order(linkage: np.ndarray) -> list[int]:
    """Return the items in an order in which the dendrogram's branches do not cross.

    Args:
        linkage: linkage matrix from `average_linkage`, [N - 1, 4].
    """
    return hierarchy.leaves_list(linkage).tolist() if len(linkage) else [0]
