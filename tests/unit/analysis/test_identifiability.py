from __future__ import annotations

import numpy as np
import pytest

from transformer.analysis.contributions import contributions
from transformer.analysis.identifiability import head_identifiability, identifiability
from transformer.trace import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_effective_attention_gives_the_same_output(shaped_translator, shaped_trace, kind):
    """Reference A19."""
    weights = shaped_translator.weights()
    for layer, head in ((0, 0), (1, 2)):
        found = head_identifiability(shaped_trace, weights, kind, layer, head)
        whole = contributions(shaped_trace, weights, kind, layer)
        transformed = whole.transformed[head]
        np.testing.assert_allclose(found.effective @ transformed, whole.heads()[head], atol=1e-5)
        np.testing.assert_allclose(found.null @ transformed, 0, atol=1e-5)
        np.testing.assert_allclose(found.effective + found.null, shaped_trace.attention(kind)[layer, head], atol=1e-6)
        assert found.columns == len(transformed) and found.width == 8
        assert found.rank <= 8 and found.null_dimensions == found.columns - found.rank
        assert found.warning == (found.columns > 8)
    assert found.warning, "the sentence of this test is longer than a value"


@pytest.mark.parametrize(("columns", "warning"), [(4, False), (64, False), (65, True), (100, True)])
def test_the_warning_is_about_length_and_width_only(columns, warning):
    rng = np.random.default_rng(columns)
    attention = rng.dirichlet(np.ones(columns), size=7)
    transformed = rng.standard_normal((columns, 64)) @ rng.standard_normal((64, 512))
    found = identifiability(attention, transformed, width=64)
    assert found.warning is warning
    assert found.rank == min(columns, 64) and found.null_dimensions == max(columns - 64, 0)
    np.testing.assert_allclose(found.effective @ transformed, attention @ transformed, atol=1e-5)
    assert np.allclose(found.null, 0, atol=1e-9) is not warning
    np.testing.assert_allclose((found.effective * found.null).sum(axis=1), 0, atol=1e-9)


def test_equal_values_share_their_weight():
    # Columns 0 and 1 have the same value: only the sum of their weights matters.
    found = identifiability(np.array([[0.6, 0.2, 0.2]]), np.array([[1.0, 2], [1, 2], [0, 3]]), width=2)
    np.testing.assert_allclose(found.effective, [[0.4, 0.4, 0.2]], atol=1e-12)
    assert found.rank == 2 and found.null_dimensions == 1 and found.warning


def test_values_of_nothing_have_no_effective_attention():
    found = identifiability(np.array([[0.5, 0.5]]), np.zeros((2, 4)), width=4)
    assert found.rank == 0 and not found.effective.any() and not found.warning
