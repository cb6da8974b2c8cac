"""Compares all gradients of an encoder-decoder with autograd, and some with central differences."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.small_models import small
from transformer.backpropagation.autograd import autograd
from transformer.backpropagation.finite_difference import finite_difference
from transformer.backpropagation.gradients import LossInputs, gradients, loss, parameters_of
from transformer.backpropagation.optimizers import sgd
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import START


def agree(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, expected in theirs.items():
        assert ours[name].shape == expected.shape, name
        np.testing.assert_allclose(ours[name], expected, rtol=0, atol=1e-10, err_msg=name)


def test_every_gradient_matches_autograd(config, parameters, batch):
    found, expected = gradients(parameters, config, batch), autograd(parameters, config, batch)
    assert found.loss == pytest.approx(expected.loss, abs=1e-10)
    agree(found.parameters, expected.parameters)
    agree(found.gradients, expected.gradients)
    assert found.values.keys() == found.gradients.keys(), "every intermediate result has a gradient"
    assert all(np.abs(each).max() > 0 for each in found.parameters.values()), "none is 0 by mistake"


def test_gradients_match_central_differences(config, parameters, batch):
    found = gradients(parameters, config, batch)
    everything = {**found.parameters, **found.gradients}
    rng = np.random.default_rng(3)
    # Check only 40 gradients, because each check takes two passes and a deep model has hundreds of gradients.
    for name in rng.permutation(list(everything))[:40]:
        grad = everything[name]
        at = tuple(int(rng.integers(size)) for size in grad.shape)
        difference = finite_difference(parameters, config, batch, name, at, grad.shape)
        assert grad[at] == pytest.approx(difference, abs=1e-6), (name, at)


def test_masked_scores_have_zero_gradient(config, parameters, batch):
    found = gradients(parameters, config, batch).gradients
    padding, later = ~batch.source_mask, ~np.tri(batch.target.shape[1], dtype=bool)
    assert padding.any() and later.any()
    for name, grad in found.items():
        if not name.endswith(".scores"):
            continue
        np.testing.assert_allclose(grad.sum(axis=-1), 0, atol=1e-12, err_msg=name)
        if name.startswith("decoder") and "self_attention" in name:
            assert (grad[..., later] == 0).all(), name
        else:
            assert (grad.swapaxes(1, -1)[padding] == 0).all(), name


def test_loss_of_one_decoding_step_has_zero_gradient_at_later_positions(config, parameters, batch):
    counted = np.zeros_like(batch.counted)
    counted[0, 2] = True
    found = gradients(parameters, config, replace(batch, counted=counted)).gradients
    assert (found["target.input"][0, 3:] == 0).all() and (found["target.input"][1] == 0).all()
    assert (np.abs(found["target.input"][0, :3]).max(axis=-1) > 0).all()
    assert (found["source.input"][1] == 0).all()


def test_losses_and_gradients_of_the_steps_add_up_to_the_total(config, parameters, batch):
    each = []
    for at in np.argwhere(batch.counted):
        counted = np.zeros_like(batch.counted)
        counted[tuple(at)] = True
        each.append(gradients(parameters, config, replace(batch, counted=counted)))
    whole = gradients(parameters, config, batch)
    assert whole.loss == pytest.approx(sum(one.loss for one in each))
    for name, grad in whole.parameters.items():
        np.testing.assert_allclose(grad, sum(one.parameters[name] for one in each), atol=1e-9)


def test_training_with_hand_written_gradients_matches_pytorch(config, parameters, batch):
    model = Transformer(config).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(parameters[name]))
    # Use SGD instead of Adam. Adam divides each gradient by its average magnitude, so even gradients of 1e-12 would
    # have to agree in every digit.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        expected = autograd(
            {name: each.detach().numpy().copy() for name, each in model.named_parameters()}, config, batch
        ).parameters
        for name, parameter in model.named_parameters():
            parameter.grad = torch.from_numpy(expected[name])
        optimizer.step()
        found = gradients(parameters, config, batch)
        parameters = sgd(parameters, found.parameters, learning_rate=0.01)
        losses.append(found.loss)
    assert losses[-1] < losses[0]
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(parameters[name], parameter.detach().numpy(), atol=1e-9, err_msg=name)


@pytest.mark.thorough
def test_loss_and_gradients_of_the_shipped_model_match_independent_values(shipped):
    """Compares the loss with the trace, every gradient with autograd, and some gradients with central differences."""
    trace = shipped.trace("I have a dream.")
    source, target, labels = (
        np.array([[token.id for token in tokens]])
        for tokens in (trace.source_tokens, trace.target_tokens, trace.predicted_tokens)
    )
    assert target[0, 0] == START
    batch = LossInputs(source, target, labels, np.ones(labels.shape, dtype=bool))
    parameters = parameters_of(shipped.weights())
    found, expected = (run(parameters, shipped.config, batch) for run in (gradients, autograd))
    assert found.loss == pytest.approx(-float(trace.log_probs.sum()), abs=1e-4)
    assert sum(each.size for each in found.parameters.values()) == shipped.parameters
    agree(found.parameters, expected.parameters)
    agree(found.gradients, expected.gradients)
    rng = np.random.default_rng(0)
    for name in (
        "source_embedding.weight",
        "encoder_layers.3.self_attention.in_projection.weight",
        "decoder_layers.0.cross_attention.scores",
        "decoder_layers.5.feed_forward.hidden",
        "logits",
    ):
        grad = {**found.parameters, **found.gradients}[name]
        at = tuple(int(rng.integers(size)) for size in grad.shape)
        if name == "source_embedding.weight":
            at = (int(source[0, 1]), 7)
        difference = finite_difference(parameters, shipped.config, batch, name, at, grad.shape)
        assert grad[at] == pytest.approx(difference, abs=1e-6), name


def test_loss_gradient_matches_a_hand_computed_case():
    """Two logits of 0 give two probabilities of 1/2, so the loss is ln 2 and its gradients are -1/2 and 1/2."""
    config = small(2, 2, 1, 2, (1, 1), positions="none")
    parameters = {name: np.zeros(tuple(each.shape)) for name, each in Transformer(config).named_parameters()}
    batch = LossInputs(np.array([[0]]), np.array([[0]]), np.array([[0]]), np.array([[True]]))
    found = gradients(parameters, config, batch)
    assert loss(parameters, config, batch) == found.loss == pytest.approx(np.log(2))
    np.testing.assert_allclose(found.gradients["logits"], [[[-0.5, 0.5]]])
    np.testing.assert_allclose(found.parameters["generator.bias"], [-0.5, 0.5])
