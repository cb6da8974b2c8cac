from __future__ import annotations

import numpy as np
import torch

from tests.conftest import ONE_SHAPE
from transformer.analysis.replay.layer_norm import layer_norm, spread


def test_is_the_norm_of_the_model(shaped_translator):
    torch.manual_seed(4)
    x = 3 * torch.randn(5, 24) + 2
    norm = shaped_translator._model.decoder_layers[1].cross_attention_residual.norm
    found = layer_norm(x.numpy(), shaped_translator.weights(), "decoder_layers.1.cross_attention_residual.norm")
    np.testing.assert_allclose(found.after, norm(x).numpy(), atol=1e-5)
    assert np.array_equal(found.before, x.numpy())


@ONE_SHAPE
def test_mean_and_deviation_are_taken_away(shaped_translator):
    x = np.random.default_rng(5).normal(2, 3, (40, 24))
    found = layer_norm(x, shaped_translator.weights(), "encoder_layers.0.feed_forward_residual.norm")
    before, normalised = spread(found.before), spread(found.normalised)
    np.testing.assert_allclose(before.mean, x.mean(axis=1))
    np.testing.assert_allclose(before.deviation**2, ((x - x.mean(axis=1, keepdims=True)) ** 2).mean(axis=1))
    np.testing.assert_allclose(normalised.mean, 0, atol=1e-12)
    np.testing.assert_allclose(normalised.deviation, 1, atol=1e-5)


@ONE_SHAPE
def test_a_constant_row_is_no_division_by_zero(shaped_translator):
    weights = shaped_translator.weights()
    found = layer_norm(np.full((1, 24), 7.0), weights, "encoder_layers.0.feed_forward_residual.norm")
    assert (found.normalised == 0).all()
