"""Multidimensional scaling: places items in a plane so that given distances are preserved as well as possible."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Plane:
    """Items placed in a plane.

    Attributes:
        points: coordinates, [N, 2], centred at (0, 0); the axis with the larger variance comes first.
        shown: fraction of the variance that the plane shows, 0 to 1; the rest is lost in the omitted dimensions.
    """

    points: np.ndarray
    shown: float


def classical_mds(distances: np.ndarray) -> Plane:
    """Apply classical multidimensional scaling in two dimensions (Torgerson 1952).

    If the distances are those of points in a plane, they are reproduced exactly. Each axis is oriented so that the
    coordinate with the largest magnitude (the first one on a tie) is positive.

    Args:
        distances: pairwise distances, [N, N], symmetric, 0 on the diagonal, N at least 1.
    """
    squared = distances**2
    from_mean = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    spreads, axes = np.linalg.eigh(-from_mean / 2)
    # Non-Euclidean distances give negative eigenvalues, which no axis can represent.
    spreads, axes = np.maximum(spreads[::-1], 0.0), axes[:, ::-1]
    points = np.zeros((len(distances), 2))
    points[:, : len(spreads)] = (axes * np.sqrt(spreads))[:, :2]
    sizes = np.abs(points).round(9)
    points *= np.where(points[sizes.argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    total = spreads.sum()
    return Plane(points, float(spreads[:2].sum() / total) if total > 0 else 1.0)
