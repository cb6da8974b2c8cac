import numpy as np

from transformer.analysis.heads.clustering import average_linkage, leaf_order


def test_clustering_matches_the_scipy_documentation_example():
    """Clusters twelve points in four corners. `scipy.cluster.hierarchy.average` documents the heights of the merges."""
    points = np.array(
        [[0, 0], [0, 1], [1, 0], [0, 4], [0, 3], [1, 4], [4, 0], [3, 0], [4, 1], [4, 4], [3, 4], [4, 3]], float
    )
    linkage = average_linkage(np.linalg.norm(points[:, None] - points[None], axis=-1))
    heights = [1, 1, 1, 1, *[1.20710678] * 4, 3.39675184, 3.39675184, 4.09206523]
    np.testing.assert_allclose(linkage[:, 2], heights, atol=1e-8)
    np.testing.assert_array_equal(linkage[:, 3], [2, 2, 2, 2, 3, 3, 3, 3, 6, 6, 12])
    assert (linkage[:, 0] < linkage[:, 1]).all()


def test_nearest_clusters_merge_first():
    places = np.array([0.0, 10.0, 1.0, 13.0, 30.0])
    linkage = average_linkage(np.abs(places[:, None] - places))
    np.testing.assert_allclose(linkage, [[0, 2, 1.0, 2], [1, 3, 3.0, 2], [5, 6, 11.0, 4], [4, 7, 24.0, 5]])


def test_dendrogram_branches_do_not_cross():
    places = np.array([0.0, 10.0, 1.0, 13.0, 30.0])
    order = leaf_order(average_linkage(np.abs(places[:, None] - places)))
    assert sorted(order) == list(range(5))
    assert abs(order.index(0) - order.index(2)) == 1 and abs(order.index(1) - order.index(3)) == 1


def test_clustering_does_not_modify_the_distance_matrix():
    distances = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert average_linkage(distances).tolist() == [[0, 1, 1.0, 2]]
    assert distances.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_clustering_a_single_item_merges_nothing():
    linkage = average_linkage(np.zeros((1, 1)))
    assert linkage.shape == (0, 4) and leaf_order(linkage) == [0]
