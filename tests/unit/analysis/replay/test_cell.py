import itertools

import numpy as np
import pytest

from tests.conftest import ONE_SHAPE
from transformer.analysis.replay.cell import cell
from transformer.analysis.replay.contributions import contributions
from transformer.values.interventions import Interventions
from transformer.values.trace import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_recomputed_cell_matches_the_trace(shaped_translator, shaped_trace, kind):
    weights = shaped_translator.weights()
    mask, attention = shaped_trace.mask(kind), shaped_trace.attention(kind)
    details = {name: shaped_trace.details[f"{kind}_{name}"] for name in ("scores", "queries", "keys", "outputs")}
    rows, columns = mask.shape
    for head, row, column in itertools.product(range(3), range(0, rows, 3), range(0, columns, 3)):
        at = 1, head, row
        found = cell(shaped_trace, weights, kind, *at, column)
        assert found.weight == attention[at][column] and found.score == details["scores"][at][column]
        assert np.array_equal(found.query, details["queries"][at])
        assert np.array_equal(found.key, details["keys"][1, head, column])
        assert np.array_equal(found.weights, attention[at]) and np.array_equal(found.output, details["outputs"][at])
        assert found.raw_score == pytest.approx(found.products.sum())
        assert found.raw_score / found.divisor + found.bias == pytest.approx(found.score, abs=1e-5)
        assert found.divisor == pytest.approx(8**0.5)
        assert found.allowed == mask[row, column] == np.isfinite(found.masked_scores[column])
        np.testing.assert_allclose(found.exponentials / found.exponentials.sum(), found.weights, atol=1e-5)
        np.testing.assert_allclose(found.weighted_values.sum(axis=0), found.output, atol=1e-5)


def test_terms_of_a_recomputed_cell_match_the_contributions_of_the_layer(shaped_translator, shaped_trace):
    weights = shaped_translator.weights()
    whole = contributions(shaped_trace, weights, "cross", 0)
    found = [cell(shaped_trace, weights, "cross", 0, head, 2, 3) for head in range(3)]
    np.testing.assert_allclose([one.term for one in found], whole.terms(2)[:, 3], atol=1e-10)
    np.testing.assert_allclose([one.head_term for one in found], whole.heads()[:, 2], atol=1e-5)
    np.testing.assert_allclose(sum(one.head_term for one in found) + whole.bias, whole.output()[2], atol=1e-5)


@ONE_SHAPE
def test_masked_cell_has_a_score_but_no_weight(shaped_translator, shaped_trace):
    found = cell(shaped_trace, shaped_translator.weights(), "decoder", 0, 1, 1, 3)
    assert not found.allowed and np.isfinite(found.score) and found.masked_scores[3] == -np.inf
    assert found.weight == found.exponentials[3] == 0 and not found.term.any()
    assert found.row_allowed.tolist()[:4] == [True, True, False, False]


@ONE_SHAPE
def test_masked_cell_gets_a_weight_if_the_mask_is_removed(shaped_translator, shaped_trace):
    trace = shaped_translator.trace(
        shaped_trace.source_text,
        shaped_trace.target_text,
        details=True,
        interventions=Interventions(decoder_mask=False),
    )
    found = cell(trace, shaped_translator.weights(), "decoder", 0, 1, 1, 3)
    assert found.allowed and found.weight > 0
    masked = cell(shaped_trace, shaped_translator.weights(), "decoder", 0, 1, 1, 3)
    np.testing.assert_allclose(found.scores, masked.scores, atol=1e-6)
