from dataclasses import replace

import numpy as np
import pytest

from transformer.analysis.heads.matching import best_match, matched_similarity, shuffled_similarity, similarities
from transformer.values.kinds import KINDS


def test_matching_a_model_with_itself_pairs_every_head_with_itself(small_translator):
    trace = small_translator.trace("I have a dream.")
    for kind in KINDS:
        found = similarities(trace, trace, kind)
        assert best_match(found).tolist() == list(range(len(found)))
        np.testing.assert_allclose(found.diagonal(), 1, atol=1e-9)
        assert found.min() >= 0 and found.max() <= 1 + 1e-9


def test_head_matching_recovers_a_permutation_of_the_heads(small_translator):
    trace = small_translator.trace("I have a dream.")
    order = np.random.default_rng(5).permutation(8)
    moved = trace.encoder.reshape(8, *trace.encoder.shape[2:])[order].reshape(trace.encoder.shape)
    found = similarities(trace, replace(trace, encoder=moved), "encoder")
    assert order[best_match(found)].tolist() == list(range(8))


def test_heads_of_models_with_different_tokenizers_are_compared_by_words(made_up_trace):
    whole = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.0, 0.5, 0.5]])
    parts = np.array([[0.5, 0.125, 0.125, 0.25], [0.1, 0.4, 0.4, 0.1], [0.1, 0.2, 0.6, 0.1], [0.0, 0.25, 0.25, 0.5]])
    a = made_up_trace(["the", "garden"], ["x"], encoder=whole)
    b = made_up_trace(["the", "gar|den"], ["x"], encoder=parts)
    assert similarities(a, b, "encoder") == pytest.approx(1.0)
    other = made_up_trace(["the", "gar|den"], ["x"], encoder=parts[::-1])
    assert similarities(a, other, "encoder") < 0.95


def test_head_comparison_ignores_a_language_code_token(made_up_trace):
    weights = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1], [0.0, 0.5, 0.5]])
    a = made_up_trace(["the", "dog"], ["x"], encoder=weights)
    coded = np.full((4, 4), 0.5)
    coded[1:, 1:] = weights / 2
    b = made_up_trace(["&", "the", "dog"], ["x"], encoder=coded)
    code = replace(b.source_tokens[0], span=None, role="language")
    b = replace(b, source_tokens=(code, *b.source_tokens[1:]))
    assert similarities(a, b, "encoder") == pytest.approx(1.0)


def test_surplus_head_of_the_larger_model_has_no_match():
    similarity = np.array([[0.9, 0.1], [0.8, 0.7], [0.2, 0.3]])
    match = best_match(similarity)
    assert match.tolist() == [0, 1, -1]
    np.testing.assert_allclose(matched_similarity(similarity, match), [0.9, 0.7, np.nan])
    np.testing.assert_allclose(shuffled_similarity(similarity, match, 2), [0.5, 0.75, np.nan])
    np.testing.assert_allclose(shuffled_similarity(similarity, match, 1), [0.9, 0.7, np.nan])
