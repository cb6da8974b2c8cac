import numpy as np
import pytest

from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.identifiability import head_identifiability, identifiability
from transformer.values.trace import KINDS

ALL = np.ones((1, 3), dtype=bool)


@pytest.mark.parametrize("kind", KINDS)
def test_effective_attention_gives_the_same_output_as_the_full_attention(shaped_translator, shaped_trace, kind):
    weights = shaped_translator.weights()
    for layer, head in ((0, 0), (1, 2)):
        found = head_identifiability(shaped_trace, weights, kind, layer, head)
        whole = contributions(shaped_trace, weights, kind, layer)
        transformed = whole.transformed[head]
        np.testing.assert_allclose(found.effective @ transformed, whole.heads()[head], atol=1e-5)
        np.testing.assert_allclose(found.null @ transformed, 0, atol=1e-5)
        np.testing.assert_allclose(found.effective + found.null, shaped_trace.attention(kind)[layer, head], atol=1e-6)
        mask = shaped_trace.mask(kind)
        assert np.array_equal(found.visible, mask.sum(axis=1)) and found.width == 8
        assert (found.effective[~mask] == 0).all() and (found.null[~mask] == 0).all()
        assert (found.rank <= np.minimum(found.visible, 8)).all()
        assert found.warning == (len(transformed) > 8)
    assert found.warning, "the sentences of this test are longer than a value"


@pytest.mark.parametrize(("columns", "warning"), [(4, False), (64, False), (65, True), (100, True)])
def test_identifiability_warning_depends_only_on_text_length_and_head_width(columns, warning):
    rng = np.random.default_rng(columns)
    attention = rng.dirichlet(np.ones(columns), size=7)
    transformed = rng.standard_normal((columns, 64)) @ rng.standard_normal((64, 512))
    found = identifiability(attention, transformed, np.ones(attention.shape, dtype=bool), width=64)
    assert found.warning is warning
    assert (found.rank == min(columns, 64)).all() and (found.null_dimensions == max(columns - 64, 0)).all()
    assert (found.sum_keeping == max(columns - 65, 0)).all(), "that the sum stays 1 is one condition more"
    np.testing.assert_allclose(found.effective @ transformed, attention @ transformed, atol=1e-5)
    assert np.allclose(found.null, 0, atol=1e-9) is not warning
    np.testing.assert_allclose((found.effective * found.null).sum(axis=1), 0, atol=1e-9)


def test_effective_attention_splits_weight_between_equal_values():
    # Columns 0 and 1 have equal value vectors, so only the sum of their weights matters.
    found = identifiability(np.array([[0.6, 0.2, 0.2]]), np.array([[1.0, 2], [1, 2], [0, 3]]), ALL, width=2)
    np.testing.assert_allclose(found.effective, [[0.4, 0.4, 0.2]], atol=1e-12)
    assert found.rank == 2 and found.null_dimensions == 1 and found.warning
    assert found.sum_keeping == 1, "what one loses the other gains"


def test_null_space_of_a_row_uses_only_its_visible_columns():
    # The third value vector is the sum of the others, so only the last row, which sees all three, is ambiguous.
    transformed = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0]])
    attention = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.3, 0.2]])
    found = identifiability(attention, transformed, np.tri(3, dtype=bool), width=3)
    assert found.visible.tolist() == [1, 2, 3] and found.rank.tolist() == [1, 2, 2]
    np.testing.assert_allclose(found.null[:2], 0, atol=1e-12)
    assert np.abs(found.null[2]).max() > 0.1 and not found.warning
    np.testing.assert_allclose(found.effective @ transformed, attention @ transformed, atol=1e-12)


def test_zero_value_vectors_have_no_effective_attention():
    found = identifiability(np.array([[0.5, 0.5]]), np.zeros((2, 4)), ALL[:, :2], width=4)
    assert found.rank == 0 and not found.effective.any() and not found.warning
