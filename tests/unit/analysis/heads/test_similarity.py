import numpy as np
import pytest

from transformer.analysis.heads.similarity import head_distances, jensen_shannon


def test_jensen_shannon_divergence_matches_known_values():
    first, second = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7])
    assert jensen_shannon(first, second) == pytest.approx(0.253102, abs=1e-6)
    assert jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(0.693147, abs=1e-6)
    assert jensen_shannon(first, first) == 0.0


def test_distance_between_two_heads_is_the_mean_divergence_of_their_rows():
    weights = np.random.default_rng(3).dirichlet(np.ones(5), size=(2, 3, 4))
    distances = head_distances(weights)
    assert distances.shape == (6, 6)
    heads = weights.reshape(6, 4, 5)
    for one in range(6):
        for other in range(6):
            expected = jensen_shannon(heads[one], heads[other]).mean()
            assert distances[one, other] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(distances, distances.T)
    assert (np.diag(distances) == 0).all() and (distances <= np.log(2)).all()


def test_equal_heads_have_zero_distance_and_disjoint_heads_the_maximum():
    same, other = np.eye(4), np.eye(4)[::-1]
    distances = head_distances(np.stack([same, same, other])[None].astype(np.float32))
    assert distances[0, 1] == 0.0 and distances[0, 2] == pytest.approx(np.log(2))


def test_single_masked_head_has_zero_distance_to_itself():
    weights = np.tri(4) / np.tri(4).sum(axis=1, keepdims=True)
    assert head_distances(weights[None, None]).tolist() == [[0.0]]
