import numpy as np
import pytest

from transformer.analysis.heads.mds import classical_mds


def distances_of(points):
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def test_mds_reproduces_distances_between_points_on_a_plane_exactly():
    points = np.random.default_rng(5).normal(size=(12, 2))
    plane = classical_mds(distances_of(points))
    np.testing.assert_allclose(distances_of(plane.points), distances_of(points), atol=1e-9)
    np.testing.assert_allclose(plane.points.mean(axis=0), 0, atol=1e-9)
    assert plane.shown == pytest.approx(1.0)


def test_mds_layout_has_a_fixed_orientation():
    points = np.array([[0.0, 0.0], [1.0, 0.5], [-5.0, 0.0], [2.0, -1.0]])
    plane = classical_mds(distances_of(points))
    assert plane.points[:, 0].var() > plane.points[:, 1].var()
    for axis in plane.points.T:
        assert axis[np.abs(axis).argmax()] > 0
    np.testing.assert_array_equal(plane.points, classical_mds(distances_of(points)).points)


def test_rotating_or_mirroring_points_does_not_change_the_layout():
    points = np.random.default_rng(7).normal(size=(9, 2)) * [3.0, 1.0]
    turn = np.array([[np.cos(1.0), np.sin(1.0)], [np.sin(1.0), -np.cos(1.0)]])
    np.testing.assert_allclose(
        classical_mds(distances_of(points)).points, classical_mds(distances_of(points @ turn)).points, atol=1e-9
    )


def test_mds_reports_how_well_the_plane_preserves_the_distances():
    plane = classical_mds(np.ones((4, 4)) - np.eye(4))
    assert plane.shown == pytest.approx(2 / 3), "a tetrahedron has three equal dimensions"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_mds_layout_of_coinciding_points_is_a_single_point(count):
    assert classical_mds(np.zeros((count, count))).points.tolist() == [[0.0, 0.0]] * count


def test_mds_places_two_points_on_the_first_axis():
    plane = classical_mds(np.array([[0.0, 2.0], [2.0, 0.0]]))
    np.testing.assert_allclose(np.abs(plane.points), [[1.0, 0.0], [1.0, 0.0]], atol=1e-9)
