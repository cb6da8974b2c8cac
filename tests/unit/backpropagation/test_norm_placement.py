from dataclasses import replace

import numpy as np
import torch

from transformer.backpropagation.autograd import autograd
from transformer.backpropagation.gradients import LossInputs
from transformer.backpropagation.norm_placement import gradient_sizes, initial_gradient_sizes
from transformer.config import TransformerConfig

CONFIG = TransformerConfig(
    source_vocabulary=50, target_vocabulary=50, d_model=32, heads=4, encoder_layers=6, decoder_layers=6, d_ff=64
)


def sentence():
    rng = np.random.default_rng(1)
    source, target, labels = (rng.integers(0, 50, (1, 9)) for _ in range(3))
    return LossInputs(source, target, labels, np.ones((1, 9), dtype=bool))


def test_gradient_norms_match_autograd(config, parameters, batch):
    found, expected = gradient_sizes(parameters, config, batch), autograd(parameters, config, batch)
    assert len(found.stream["encoder"]) == 2 * config.encoder_layers + 1
    assert len(found.stream["decoder"]) == 3 * config.decoder_layers + 1
    last = expected.gradients[f"decoder_layers.{config.decoder_layers - 1}.cross_attention.after"]
    np.testing.assert_allclose(found.stream["decoder"][-2], np.linalg.norm(last, axis=-1).mean())
    np.testing.assert_allclose(
        found.network["encoder"][0],
        np.linalg.norm(expected.parameters["encoder_layers.0.feed_forward.contract.weight"]),
    )


def test_untrained_post_norm_model_has_its_largest_gradients_in_the_last_layers():
    """Reproduces figure 3 of Xiong et al. (2020)."""
    pre, post = (initial_gradient_sizes(CONFIG, norm, sentence()).network["decoder"] for norm in ("pre", "post"))
    assert post[-2:].mean() > 3 * post[:2].mean()
    assert pre[-2:].mean() < 1.5 * pre[:2].mean()


def test_initialising_weights_does_not_use_the_global_random_generator():
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    one, same = (initial_gradient_sizes(CONFIG, "pre", sentence()) for _ in range(2))
    assert torch.equal(torch.rand(3), expected) and one.loss == same.loss
    assert initial_gradient_sizes(replace(CONFIG, norm="post"), "pre", sentence()).loss == one.loss, (
        "the rest is the same"
    )
