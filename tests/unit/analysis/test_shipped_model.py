"""The numbers inside the shipped model, whose weights are larger than those of a fresh one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transformer.analysis.cell import cell
from transformer.analysis.contributions import contributions
from transformer.analysis.identifiability import head_identifiability
from transformer.analysis.prediction import prediction
from transformer.trace import KINDS
from transformer.translator import Translator

# More pieces than the 32 numbers of a value.
TEXT = "The old man who lives next to the river told us yesterday that he had never seen so much water, " * 2


@pytest.fixture(scope="module")
def translator():
    return Translator.load(device="cpu")


@pytest.fixture(scope="module")
def trace(translator):
    return translator.translate(TEXT, details=True)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_recompute(translator, trace, kind):
    """References A13 and A19."""
    weights = translator.weights()
    for layer in (0, 3, 5):
        found = contributions(trace, weights, kind, layer)
        layers = translator._model.encoder_layers if kind == "encoder" else translator._model.decoder_layers
        attention = layers[layer].cross_attention if kind == "cross" else layers[layer].self_attention
        heads = torch.tensor(trace.details[f"{kind}_outputs"][layer])
        expected = attention.out_projection(heads.transpose(0, 1).flatten(1)).numpy()
        np.testing.assert_allclose(found.output(), expected, atol=1e-5)
        split = head_identifiability(trace, weights, kind, layer, 4)
        np.testing.assert_allclose(split.effective @ found.transformed[4], found.heads()[4], atol=1e-5)
        assert split.warning == (len(trace.keys(kind)) > 32)
        one = cell(trace, weights, kind, layer, 4, 9, 7)
        assert one.raw_score / one.divisor == pytest.approx(one.score, abs=1e-5)
        np.testing.assert_allclose(one.exponentials / one.exponentials.sum(), one.weights, atol=1e-5)
        np.testing.assert_allclose(one.weighted_values.sum(axis=0), one.output, atol=1e-5)


def test_the_generator_says_what_the_trace_says(translator, trace):
    probabilities = prediction(trace, translator.weights()).probabilities
    taken = probabilities[np.arange(len(probabilities)), [piece.id for piece in trace.predicted_pieces]]
    np.testing.assert_allclose(np.log(taken), trace.log_probs, atol=1e-5)
