import numpy as np
import pytest

from transformer.analysis.view import scaled_rows, view_of
from transformer.values.trace import KINDS


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator.trace("The old man reads a book.", "Der alte Mann liest ein Buch.")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("special", [False, True])
def test_attention_rows_sum_to_one_in_every_view(trace, kind, words, special):
    view = view_of(trace, kind, words=words, special=special)
    assert view.weights.shape == (view.layers, view.heads, len(view.axes.rows), len(view.axes.columns))
    assert view.mask.shape == view.weights.shape[2:]
    np.testing.assert_allclose(view.weights.sum(-1), 1, atol=1e-5)
    assert (view.weights[..., ~view.mask] == 0).all()
    assert (view.axes.predicted is None) == (kind == "encoder")
    shown_special = [group[0] for group in view.axes.columns if group[0].special]
    assert bool(shown_special) == special and (view.hidden is None) == special


@pytest.mark.parametrize("kind", KINDS)
def test_attention_view_without_merging_or_hiding_matches_the_trace(trace, kind):
    view = view_of(trace, kind)
    assert np.array_equal(view.weights, trace.attention(kind)) and np.array_equal(view.mask, trace.mask(kind))
    assert [group[0] for group in view.axes.rows] == list(trace.query_tokens(kind))
    assert [group[0] for group in view.axes.columns] == list(trace.key_tokens(kind))


def test_first_cross_attention_row_is_shown_even_if_special_tokens_are_hidden(trace):
    view = view_of(trace, "cross", special=False)
    assert view.axes.rows[0][0].special, "it reads the start symbol and predicts the first word"


def test_hidden_share_equals_the_weight_of_the_hidden_columns(trace):
    view = view_of(trace, "cross", special=False)
    np.testing.assert_allclose(view.hidden, trace.cross[..., -1], atol=1e-6)


def test_attention_row_is_rescaled_when_columns_are_hidden():
    weights, hidden = scaled_rows(np.array([[0.1, 0.4], [0.0, 0.0]]))
    np.testing.assert_allclose(weights, [[0.2, 0.8], [0, 0]])
    np.testing.assert_allclose(hidden, [0.5, 1.0])


def test_hiding_special_tokens_never_removes_all_columns(small_translator):
    view = view_of(small_translator.trace("a"), "decoder", special=False)
    assert view.weights.shape[-1] >= 1
