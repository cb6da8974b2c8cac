"""Things with distances between them, merged step by step into a tree."""

from __future__ import annotations

import numpy as np


def average_linkage(distances: np.ndarray) -> np.ndarray:
    """Hierarchical clustering in which two clusters are as far apart as their members are on average (UPGMA).

    Args:
        distances: [N, N], symmetric.

    Returns:
        [N - 1, 4], as scipy.cluster.hierarchy.linkage defines it: each row merges clusters a < b at a distance into
        one of so many members. Clusters 0 to N - 1 are the things themselves, row i makes cluster N + i.
    """
    count = len(distances)
    between = distances.astype(np.float64)
    np.fill_diagonal(between, np.inf)
    clusters, sizes = np.arange(count), np.ones(count)
    merges = np.zeros((max(count - 1, 0), 4))
    for step in range(count - 1):
        first, second = sorted(np.unravel_index(between.argmin(), between.shape))
        size = sizes[first] + sizes[second]
        merges[step] = *sorted((clusters[first], clusters[second])), between[first, second], size
        merged = (sizes[first] * between[first] + sizes[second] * between[second]) / size
        between[first] = between[:, first] = merged
        between[second] = between[:, second] = np.inf
        between[first, first] = np.inf
        clusters[first], sizes[first] = count + step, size
    return merges


def leaf_order(linkage: np.ndarray) -> list[int]:
    """The order of the things in which the branches of a dendrogram do not cross.

    Args:
        linkage: [N - 1, 4], as `average_linkage` returns it.
    """
    count = len(linkage) + 1
    members = [[thing] for thing in range(count)]
    for first, second in linkage[:, :2].astype(int):
        members.append(members[first] + members[second])
    return members[-1]
