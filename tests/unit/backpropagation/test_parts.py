"""Compares the backward pass of every model part with PyTorch's autograd and with central differences."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from transformer.backpropagation.activations import activation, activation_backward
from transformer.backpropagation.attention import (
    join_heads,
    scaled_dot_product_attention,
    scaled_dot_product_attention_backward,
    split_heads,
)
from transformer.backpropagation.cross_entropy import cross_entropy, cross_entropy_backward
from transformer.backpropagation.layer_norm import layer_norm, layer_norm_backward
from transformer.backpropagation.linear import linear, linear_backward
from transformer.backpropagation.notes import Notes
from transformer.backpropagation.softmax import softmax, softmax_backward
from transformer.config import CHOICES
from transformer.model.layers import ACTIVATIONS

SHAPES = [(1, 1, 1), (1, 5, 2), (3, 1, 8), (2, 7, 4), (4, 3, 16)]
SEEDS = range(4)


def numbers(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def by_torch(function, grad, *inputs):
    """Return the gradients of a function with respect to its inputs, given the gradient of its result."""
    tensors = [torch.from_numpy(each).requires_grad_() for each in inputs]
    found = torch.autograd.grad(function(*tensors), tensors, torch.from_numpy(grad))
    return [each.numpy() for each in found]


def agree(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def nudged(function, grad, x, at, step=1e-5):
    """Return the central difference of the loss sum(grad * function(x)) with respect to x[at]."""
    nudge = np.zeros_like(x)
    nudge[at] = step
    return ((function(x + nudge) - function(x - nudge)) * grad).sum() / (2 * step)


@pytest.mark.parametrize(("batch", "length", "width"), SHAPES)
def test_linear_gradients_match_autograd(batch, length, width):
    x, weight, bias, grad = numbers(0, (batch, length, width), (6, width), (6,), (batch, length, 6))
    y, saved = linear(x, weight, bias)
    np.testing.assert_allclose(y, F.linear(*map(torch.from_numpy, (x, weight, bias))), atol=1e-12)
    agree(linear_backward(grad, saved), by_torch(F.linear, grad, x, weight, bias))
    assert np.array_equal(linear(x, weight)[0], x @ weight.T)


@pytest.mark.parametrize(("batch", "length", "width"), SHAPES)
def test_layer_norm_gradients_match_autograd(batch, length, width):
    x, gain, bias, grad = numbers(1, (batch, length, width), (width,), (width,), (batch, length, width))
    y, saved = layer_norm(x, gain, bias)

    def norm(x, gain, bias):
        return F.layer_norm(x, (width,), gain, bias)

    np.testing.assert_allclose(y, norm(*map(torch.from_numpy, (x, gain, bias))), atol=1e-12)
    found = layer_norm_backward(grad, saved)
    agree(found, by_torch(norm, grad, x, gain, bias))
    np.testing.assert_allclose(found.x.sum(axis=-1), 0, atol=1e-9, err_msg="adding one to all of x changes nothing")


@pytest.mark.parametrize("name", CHOICES["activation"])
@pytest.mark.parametrize("x", [np.linspace(-6, 6, 49).reshape(7, 7), np.array([0.0, -0.0, 40.0, -40.0])])
def test_activation_gradients_match_autograd(name, x):
    y, derivative = activation(x, name)
    grad = np.linspace(-1, 2, x.size).reshape(x.shape)
    np.testing.assert_allclose(y, ACTIVATIONS[name](torch.from_numpy(x)), atol=1e-12)
    agree([activation_backward(grad, derivative)], by_torch(ACTIVATIONS[name], grad, x))


def random_mask(seed, rows, columns):
    """Return a random mask that allows at least one cell in every row."""
    rng = np.random.default_rng(seed)
    mask = rng.random((rows, columns)) < 0.6
    mask[np.arange(rows), rng.integers(0, columns, rows)] = True
    return mask


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 9), (6, 2), (5, 5)])
def test_softmax_gradients_match_autograd_with_any_mask(rows, columns, seed):
    scores, grad = numbers(seed, (2, rows, columns), (2, rows, columns))
    scores *= 20.0
    allowed = random_mask(seed, rows, columns)
    weights = softmax(scores, allowed)
    found = softmax_backward(grad, weights)
    assert (found[:, ~allowed] == 0).all(), "exactly: a masked score has no effect"
    np.testing.assert_allclose(found.sum(axis=-1), 0, atol=1e-14, err_msg="adding one to a row changes nothing")

    def masked(scores):
        return scores.masked_fill(torch.from_numpy(~allowed), -torch.inf).softmax(dim=-1)

    np.testing.assert_allclose(weights, masked(torch.from_numpy(scores)), atol=1e-14)
    agree([found], by_torch(masked, grad, scores))
    at = (1, rows - 1, columns // 2)
    difference = nudged(lambda scores: softmax(scores, allowed), grad, scores, at)
    assert found[at] == pytest.approx(difference, abs=1e-6)


def test_fully_masked_row_has_zero_gradient():
    weights = softmax(np.ones((2, 3)), np.array([[False] * 3, [True] * 3]))
    assert (weights[0] == 0).all() and (softmax_backward(np.ones((2, 3)), weights)[0] == 0).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("rows", "columns", "width"), [(1, 1, 1), (4, 6, 3), (6, 4, 8), (5, 5, 2)])
def test_attention_gradients_match_autograd(rows, columns, width, seed):
    shapes = [(2, 3, length, width) for length in (rows, columns, columns, rows)]
    query, key, value, grad = numbers(seed, *shapes)
    allowed = random_mask(seed, rows, columns)
    notes = Notes()
    output, saved = scaled_dot_product_attention(query, key, value, allowed, notes)

    def attention(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, torch.from_numpy(allowed))

    np.testing.assert_allclose(output, attention(*map(torch.from_numpy, (query, key, value))), atol=1e-12)
    gradients = Notes()
    found = scaled_dot_product_attention_backward(grad, saved, gradients)
    agree(found, by_torch(attention, grad, query, key, value))
    assert (gradients.values["scores"][..., ~allowed] == 0).all()
    assert {name: each.shape for name, each in gradients.values.items()} == {
        name: each.shape for name, each in notes.values.items()
    }


@pytest.mark.parametrize("heads", [1, 2, 3, 6])
def test_joining_split_heads_restores_the_original_array(heads):
    (x,) = numbers(3, (2, 5, 6))
    parts = split_heads(x, heads)
    assert parts.shape == (2, heads, 5, 6 // heads) and np.array_equal(join_heads(parts), x)
    assert np.array_equal(parts[:, 0], x[..., : 6 // heads]), "the first head has the first numbers"


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize(("batch", "length", "vocabulary"), [(1, 1, 2), (2, 4, 30), (3, 1, 1)])
def test_cross_entropy_gradients_match_autograd(batch, length, vocabulary, label_smoothing):
    (logits,) = numbers(4, (batch, length, vocabulary))
    rng = np.random.default_rng(4)
    labels, counted = rng.integers(0, vocabulary, (batch, length)), rng.random((batch, length)) < 0.7
    counted[0, 0] = True

    def loss(logits):
        mask = torch.from_numpy(counted)
        return F.cross_entropy(
            logits[mask], torch.from_numpy(labels)[mask], label_smoothing=label_smoothing, reduction="sum"
        )

    found, saved = cross_entropy(30 * logits, labels, counted, label_smoothing)
    assert found == pytest.approx(float(loss(torch.from_numpy(30 * logits))), abs=1e-10)
    grad = cross_entropy_backward(saved)
    agree([grad], by_torch(loss, np.array(1.0), 30 * logits))
    assert (grad[~counted] == 0).all()
    np.testing.assert_allclose(grad.sum(axis=-1), 0, atol=1e-14)
