import numpy as np
import pytest
import torch

from transformer.backpropagation.softmax import exponentials, softmax
from transformer.model.attention import masked_softmax


def test_softmax_matches_the_lecture_example():
    # Raw scores of 112 and 96, divided by sqrt(64), give softmax(14, 12) = (0.88, 0.12).
    np.testing.assert_allclose(softmax(np.array([112, 96]) / 8), [0.880797, 0.119203], atol=1e-6)
    np.testing.assert_allclose(exponentials(np.array([14, 12])), [1, np.exp(-2)])


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_numpy_softmax_matches_the_softmax_of_the_model(size):
    scores = size * np.random.default_rng(1).standard_normal((3, 6, 6))
    for allowed in (None, np.tri(6, dtype=bool), np.zeros((6, 6), dtype=bool)):
        expected = masked_softmax(torch.tensor(scores), None if allowed is None else torch.tensor(allowed))
        np.testing.assert_allclose(softmax(scores, allowed), expected.numpy(), atol=1e-12)


def test_masked_cells_have_a_softmax_weight_of_exactly_zero():
    allowed = np.tri(4, dtype=bool)
    weights = softmax(np.arange(16.0).reshape(4, 4), allowed)
    assert (weights[~allowed] == 0).all() and (weights[allowed] > 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1)
