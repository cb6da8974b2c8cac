from __future__ import annotations

import numpy as np
import pytest
import torch

from transformer.analysis.replay.feed_forward import ACTIVATIONS, feed_forward
from transformer.model.layers import ACTIVATIONS as OF_THE_MODEL


@pytest.mark.parametrize("name", OF_THE_MODEL)
def test_activations_are_those_of_the_model(name):
    x = torch.linspace(-40, 40, 801, dtype=torch.float64)
    np.testing.assert_allclose(ACTIVATIONS[name](x.numpy()), OF_THE_MODEL[name](x).numpy(), atol=1e-12)


def test_is_the_network_of_the_model(shaped_translator):
    torch.manual_seed(4)
    x = torch.randn(5, 24)
    network = shaped_translator._model.encoder_layers[1].feed_forward
    found = feed_forward(x.numpy(), shaped_translator.weights(), "encoder_layers.1.feed_forward")
    np.testing.assert_allclose(found.expanded, network.expand(x).numpy(), atol=1e-5)
    np.testing.assert_allclose(found.hidden, network.activation(network.expand(x)).numpy(), atol=1e-5)
    np.testing.assert_allclose(found.written, network(x).numpy(), atol=1e-5)
