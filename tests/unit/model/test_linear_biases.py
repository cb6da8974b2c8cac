import numpy as np
import pytest

from transformer.model.linear_biases import biases, slopes


def test_linear_bias_slopes_match_the_paper():
    # Press et al. 2022, section 3: 8 heads have slopes from 1/2 to 1/2^8, and 16 heads from 1/2^0.5 to 1/2^8.
    np.testing.assert_allclose(slopes(8), 2.0 ** -np.arange(1, 9))
    np.testing.assert_allclose(slopes(16), 2.0 ** -(np.arange(1, 17) / 2))
    assert slopes(1).tolist() == [2**-8]


def test_linear_bias_slopes_match_the_published_code_if_the_head_count_is_not_a_power_of_two():
    eight, sixteen = slopes(8), slopes(16)
    np.testing.assert_allclose(slopes(12), [*eight, *sixteen[0:8:2]])
    np.testing.assert_allclose(slopes(3), [2**-4, 2**-8, 2**-2])


@pytest.mark.parametrize("heads", range(1, 34))
def test_every_head_has_a_different_linear_bias_slope(heads):
    found = slopes(heads)
    assert found.shape == (heads,) and len(set(found)) == heads
    assert ((found > 0) & (found < 1)).all()


def test_linear_bias_is_minus_slope_times_distance():
    found = biases(4, 5)
    assert found.shape == (4, 5, 5)
    assert (found[:, range(5), range(5)] == 0).all()
    for head, slope in enumerate(slopes(4)):
        assert found[head, 4, 1] == pytest.approx(-3 * slope)
        assert found[head, 1, 4] == found[head, 4, 1]


def test_linear_biases_reject_zero_heads():
    with pytest.raises(ValueError, match="at least one head"):
        slopes(0)
