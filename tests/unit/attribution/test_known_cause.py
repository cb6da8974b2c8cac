import numpy as np
import pytest

from transformer.attribution.attribution import METHODS, Target

# The first word is a single token, so the source tokens after it equal the predicted tokens.
TEXT, TARGET = "I read the cat", "read the cat"
# A row in the middle, so that source token ROW + 1 is neither the first token nor the end symbol.
ROW = 3


def strongest(translator, method, trace, row=ROW):
    return translator.attribute(trace, method, [Target((row,))]).source[0].argmax()


def trace_of(translator):
    trace = translator.trace(TEXT, TARGET, details=True)
    assert [token.id for token in trace.predicted_tokens] == [token.id for token in trace.source_tokens[1:]]
    rows = slice(len(trace.predicted_tokens) - 1)
    assert [token.id for token in trace.predicted_tokens[rows]] == trace.candidate_ids[rows, 0].tolist(), "it copies"
    return trace


@pytest.mark.parametrize("method", METHODS)
def test_every_attribution_method_finds_the_copied_token(next_copier, method):
    trace = trace_of(next_copier)
    for row in range(len(trace.source_tokens) - 2):
        assert strongest(next_copier, method, trace, row) == row + 1


@pytest.mark.parametrize(
    ("method", "misled"),
    [
        ("weights", True),
        ("rollout", True),
        ("norms", False),
        ("alti", False),
        ("frozen_gradient", False),
        ("integrated_gradients", False),
        ("erasure", False),
    ],
)
def test_attended_token_with_a_zero_value_vector_misleads_only_methods_based_on_weights(
    distracted_copier, method, misled
):
    trace = trace_of(distracted_copier)
    end = len(trace.source_tokens) - 1
    assert trace.cross[0, 0, ROW, end] > 0.8
    assert strongest(distracted_copier, method, trace) == (end if misled else ROW + 1)


def test_end_symbol_with_a_zero_value_vector_gets_almost_no_attribution(distracted_copier):
    trace = trace_of(distracted_copier)
    for method in ("norms", "alti", "frozen_gradient"):
        scores = distracted_copier.attribute(trace, method, [Target((ROW,))]).source[0]
        assert abs(scores[-1]) < 0.02 * scores.max(), method


@pytest.mark.parametrize("method", ["alti", "frozen_gradient", "integrated_gradients"])
def test_attribution_finds_the_source_of_a_token_moved_by_the_encoder(mixing_copier, method):
    trace = trace_of(mixing_copier)
    assert strongest(mixing_copier, "weights", trace) == ROW, "where cross-attention looks"
    assert strongest(mixing_copier, method, trace) == ROW + 1


def test_erasing_an_unattended_token_changes_nothing(next_copier):
    trace = trace_of(next_copier)
    scores = next_copier.attribute(trace, "erasure", [Target((ROW,))]).source[0]
    others = np.delete(scores, ROW + 1)
    assert abs(others).max() < 1e-3 < 1 < scores[ROW + 1]
