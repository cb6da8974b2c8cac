"""Compares recomputed numbers with those of the shipped model.

Its weights are larger than those of untrained models, and so are the rounding errors.
"""

import numpy as np
import pytest
import torch
from torch.nn.functional import linear

from transformer.analysis.replay.cell import cell
from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.identifiability import head_identifiability
from transformer.analysis.replay.prediction import prediction
from transformer.values.trace import KINDS

# The text has more tokens than a value vector has dimensions (32), so its attention weights are not identifiable.
TEXT = "The old man who lives next to the river told us yesterday that he had never seen so much water, " * 2


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(TEXT, details=True)


@pytest.mark.parametrize("kind", KINDS)
def test_recomputed_attention_matches_the_shipped_model(shipped, trace, kind):
    weights = shipped.weights()
    for layer in (0, 3, 5):
        found = contributions(trace, weights, kind, layer)
        layers = shipped._model.encoder_layers if kind == "encoder" else shipped._model.decoder_layers
        attention = layers[layer].cross_attention if kind == "cross" else layers[layer].self_attention
        heads = torch.tensor(trace.detail(kind, "outputs")[layer]).double()
        # Use double precision, because each sum has 256 terms with magnitudes of up to 44.
        weight, bias = attention.out_projection.weight.double(), attention.out_projection.bias.double()
        expected = linear(heads.transpose(0, 1).flatten(1), weight, bias).numpy()
        np.testing.assert_allclose(found.output(), expected, atol=1e-5)
        split = head_identifiability(trace, weights, kind, layer, 4)
        np.testing.assert_allclose(split.effective @ found.transformed[4], found.heads()[4], atol=1e-5)
        assert split.warning == (len(trace.key_tokens(kind)) > 32)
        one = cell(trace, weights, kind, layer, 4, 9, 7)
        assert one.raw_score / one.divisor == pytest.approx(one.score, abs=1e-5)
        np.testing.assert_allclose(one.exponentials / one.exponentials.sum(), one.weights, atol=1e-5)
        np.testing.assert_allclose(one.weighted_values.sum(axis=0), one.output, atol=1e-5)


def test_generator_weights_reproduce_the_probabilities_in_the_trace(shipped, trace):
    probabilities = prediction(trace, shipped.weights()).probabilities
    taken = probabilities[np.arange(len(probabilities)), [token.id for token in trace.predicted_tokens]]
    np.testing.assert_allclose(np.log(taken), trace.log_probs, atol=1e-5)
