from dataclasses import replace

import numpy as np
import pytest
import torch

from transformer.attribution.attribution import Target, every_position
from transformer.attribution.direct_logits import Component, direct_logits
from transformer.attribution.objective import token_ids
from transformer.attribution.transformed import linear_layer_norm
from transformer.config import RELATIVE


def test_direct_logit_contributions_match_a_hand_computed_case():
    """Every part is divided by the standard deviation of the whole stream, not by its own."""
    parts = np.array([[1.0, 2, 3, 4], [2.0, 0, -1, 1]])
    gain, bias, word = np.array([1, 2, 1, 0.5]), np.array([0.1, 0, 0, 0.2]), np.array([1.0, -1, 0, 2])
    deviation = np.sqrt(parts.sum(axis=0).var() + 1e-5)
    scores = linear_layer_norm(parts, gain, deviation) @ word
    np.testing.assert_allclose(scores, [0.816494, 2.449482], atol=1e-6)
    assert bias @ word == pytest.approx(0.5)
    assert scores.sum() + bias @ word + 0.3 == pytest.approx(4.065975, abs=1e-6)
    own = [linear_layer_norm(part, gain, np.sqrt(part.var() + 1e-5)) @ word for part in parts]
    np.testing.assert_allclose(own, [0.894, 2.683], atol=1e-3, err_msg="what a norm of its own would give each part")


def test_component_contributions_add_up_to_the_logit(shaped_translator, shaped_trace):
    targets, weights = every_position(shaped_trace), shaped_translator.weights()
    if weights.config.norm == "post":
        with pytest.raises(ValueError, match="needs a pre-norm model"):
            direct_logits(shaped_trace, weights, targets)
        return
    found = direct_logits(shaped_trace, weights, targets)
    source, prefix = token_ids(shaped_trace, torch.device("cpu"))
    with torch.inference_mode():
        logits = shaped_translator._model(source[None], prefix[None])[0].numpy()
    taken = [token.id for token in shaped_trace.predicted_tokens]
    np.testing.assert_allclose(found.scores.sum(axis=1), logits[np.arange(len(taken)), taken], atol=1e-4)
    np.testing.assert_allclose(found.scores.sum(axis=1), found.logits, atol=1e-4)
    # The components are the token embedding, the position embedding (if it is added), two biases, and 9 components per
    # layer: the feed-forward network, and 3 heads and a bias in each of two attention sub-layers.
    added = shaped_translator.config.positions not in RELATIVE
    assert len(set(found.components)) == len(found.components) == found.scores.shape[1] == 1 + added + 2 * 9 + 2


def test_contrast_of_two_tokens_includes_the_difference_of_their_output_biases(small_translator):
    trace, weights = small_translator.trace("The dog sleeps.", details=True), small_translator.weights()
    taken, other = trace.predicted_tokens[1].id, 17
    # The output bias of an untrained model is 0, so replace it.
    bias = np.arange(len(weights.arrays["generator.bias"]), dtype=np.float32)
    weights = replace(weights, arrays={**weights.arrays, "generator.bias": bias})
    found = direct_logits(trace, weights, [Target((1,), against=(other,)), Target((1,))])
    assert found.scores[0, found.components.index(Component("output bias"))] == bias[taken] - bias[other]
    np.testing.assert_allclose(found.scores.sum(axis=1), found.logits, atol=1e-4)


def test_copying_head_contributes_most_to_every_logit(copying_translator):
    trace = copying_translator.trace("The dog and the cat", details=True)
    found = direct_logits(trace, copying_translator.weights(), every_position(trace))
    assert all(found.components[best].kind == "cross-attention head" for best in found.scores.argmax(axis=1))
