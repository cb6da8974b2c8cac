import numpy as np
import pytest

from transformer.analysis.positions import (
    binary_counter,
    by_offset,
    distances,
    dot_products,
    dropout,
    halves_order,
    rotation,
    wavelengths,
)
from transformer.model.sinusoids import frequencies, sinusoids

WIDTHS = [2, 6, 20, 128, 512]


def test_positional_encoding_matches_the_paper():
    table = sinusoids(60, 512)
    np.testing.assert_allclose(table[1, :4], [0.841471, 0.540302, 0.821856, 0.569695], atol=1e-6)
    np.testing.assert_allclose(table[50, 128:130], [-0.958924, 0.283662], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), 16, atol=1e-12)


def test_positional_encoding_consists_of_sines_and_cosines():
    # Dimensions 4 and 5 of 20 have the frequency 10000^(-4/20), and dimensions 6 and 7 have 10000^(-6/20).
    curves = sinusoids(100, 20)[:, 4:8]
    position = np.arange(100)
    for column, curve in zip(curves.T, (np.sin, np.cos), strict=False):
        np.testing.assert_allclose(column, curve(position * 10_000**-0.2), atol=1e-12)
    np.testing.assert_allclose(curves[:, 2], np.sin(position * 10_000**-0.3), atol=1e-12)
    np.testing.assert_allclose(curves[1], [0.157827, 0.987467, 0.063054, 0.998010], atol=1e-6)


@pytest.mark.parametrize("width", WIDTHS)
def test_interleaved_and_split_encodings_are_permutations_of_each_other(width):
    interleaved, halves = sinusoids(30, width), sinusoids(30, width, halves=True)
    order = halves_order(width)
    assert sorted(order) == list(range(width))
    assert np.array_equal(interleaved[:, order], halves)
    assert np.array_equal(halves[:, order.argsort()], interleaved)
    np.testing.assert_allclose(dot_products(interleaved), dot_products(halves), atol=1e-10)


def test_wavelengths_start_at_two_pi_and_match_the_formula():
    lengths = wavelengths(512)
    assert lengths.shape == (256,) and (np.diff(lengths) > 0).all()
    assert lengths[0] == pytest.approx(2 * np.pi)
    assert lengths[-1] == pytest.approx(60_611, abs=1)
    np.testing.assert_allclose(lengths * frequencies(512), 2 * np.pi)


@pytest.mark.parametrize(
    ("offset", "product"), [(0, 256.0), (1, 249.1021), (2, 231.7336), (5, 189.5967), (10, 173.7897), (50, 131.0908)]
)
def test_dot_products_of_positional_encodings_match_known_values(offset, product):
    products = by_offset(dot_products(sinusoids(80, 512)))
    assert products.mean[offset] == pytest.approx(product, abs=5e-5)
    assert products.mean[offset] == pytest.approx(np.cos(offset * frequencies(512)).sum(), abs=1e-9)


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_dot_product_of_positional_encodings_depends_only_on_their_offset(width, halves):
    table = sinusoids(64, width, halves=halves)
    for matrix in (dot_products(table), distances(table)):
        assert np.array_equal(by_offset(matrix).offsets, np.arange(64))
        np.testing.assert_allclose(by_offset(matrix).spread, 0, atol=1e-9)
    # The law of cosines gives these distances, because the squared norm of every encoding is width / 2.
    expected = np.sqrt(np.maximum(width - 2 * dot_products(table), 0))
    np.testing.assert_allclose(distances(table), expected, atol=1e-6)


def test_spread_is_the_range_of_the_values_at_one_offset():
    found = by_offset(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert found.mean.tolist() == [2.5, 2.0] and found.spread.tolist() == [3.0, 0.0]


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("offset", [0, 1, 3, 17, 500, -4])
@pytest.mark.parametrize("width", WIDTHS)
def test_rotation_shifts_positional_encodings_by_the_offset(width, offset, halves):
    matrix = rotation(offset, width, halves=halves)
    table = sinusoids(600, width, halves=halves)
    start = np.arange(10, 90)
    np.testing.assert_allclose(table[start] @ matrix.T, table[start + offset], atol=1e-11)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(width), atol=1e-12)
    assert (np.count_nonzero(matrix, axis=1) <= 2).all(), "one rotation a pair"


def test_two_rotations_equal_one_rotation_by_the_sum_of_their_offsets():
    np.testing.assert_allclose(rotation(3, 20) @ rotation(4, 20), rotation(7, 20), atol=1e-12)
    assert np.array_equal(rotation(0, 20), np.eye(20))
    np.testing.assert_allclose(rotation(-5, 20), rotation(5, 20).T, atol=1e-15)


def test_binary_counter_gives_the_bits_of_each_number():
    assert binary_counter(6, 3).tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]]
    counter = binary_counter(300, 9)
    assert np.array_equal(counter @ (1 << np.arange(9)), np.arange(300))


def test_dropout_zeroes_the_given_share_and_scales_up_the_rest():
    table = np.ones((200, 200))
    dropped = dropout(table, rate=0.25, seed=3)
    assert set(np.unique(dropped)) == {0.0, 1 / 0.75}
    assert (dropped == 0).mean() == pytest.approx(0.25, abs=0.01)
    assert np.array_equal(dropout(table, rate=0.25, seed=3), dropped)
    assert not np.array_equal(dropout(table, rate=0.25, seed=4), dropped)
    assert np.array_equal(dropout(table, rate=0, seed=3), table)
    with pytest.raises(ValueError, match="below 1, not 1"):
        dropout(table, rate=1, seed=3)


@pytest.mark.parametrize("width", [0, 1, 7, -2])
def test_invalid_width_of_sinusoidal_positions_is_rejected(width):
    with pytest.raises(ValueError, match=f"even width of at least 2, not {width}"):
        sinusoids(3, width)
