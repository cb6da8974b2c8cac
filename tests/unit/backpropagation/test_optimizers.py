"""Compares every optimizer with its PyTorch counterpart over 100 steps in float64."""

import numpy as np
import pytest
import torch

from transformer.backpropagation.optimizers import Moments, adam, sgd, warmup

STEPS = 100
SHAPES = {"matrix": (3, 4), "vector": (5,)}


def start():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


def gradients(step):
    """Return gradients of very different magnitudes."""
    rng = np.random.default_rng(step)
    return {name: rng.normal(size=shape) * 10.0 ** rng.integers(-12, 3) for name, shape in SHAPES.items()}


def compare(take_step, make_optimizer):
    parameters = start()
    theirs = {name: torch.from_numpy(each.copy()) for name, each in parameters.items()}
    optimizer = make_optimizer(list(theirs.values()))
    for step in range(STEPS):
        parameters = take_step(parameters, gradients(step))
        for name, grad in gradients(step).items():
            theirs[name].grad = torch.from_numpy(grad)
        optimizer.step()
        for name, each in theirs.items():
            np.testing.assert_allclose(parameters[name], each.numpy(), rtol=1e-12, atol=1e-12)


def test_sgd_matches_pytorch():
    compare(lambda p, g: sgd(p, g, learning_rate=0.1), lambda p: torch.optim.SGD(p, lr=0.1))


@pytest.mark.parametrize(("betas", "epsilon"), [((0.9, 0.98), 1e-9), ((0.9, 0.999), 1e-8), ((0.0, 0.5), 1e-3)])
def test_adam_matches_pytorch(betas, epsilon):
    moments = Moments()

    def step(parameters, grads):
        nonlocal moments
        parameters, moments = adam(parameters, grads, moments, learning_rate=0.001, betas=betas, epsilon=epsilon)
        return parameters

    compare(step, lambda p: torch.optim.Adam(p, lr=0.001, betas=betas, eps=epsilon))
    assert moments.steps == STEPS


def test_adam_warmup_matches_the_pytorch_schedule():
    moments, count, made = Moments(), 0, []

    def step(parameters, grads):
        nonlocal moments, count
        count += 1
        parameters, moments = adam(parameters, grads, moments, learning_rate=warmup(count, 512, 40))
        return parameters

    def make(parameters):
        optimizer = torch.optim.Adam(parameters, lr=1.0, betas=(0.9, 0.98), eps=1e-9)
        made.append(
            torch.optim.lr_scheduler.LambdaLR(
                optimizer, lambda done: 512**-0.5 * min((done + 1) ** -0.5, (done + 1) * 40**-1.5)
            )
        )
        optimizer.register_step_post_hook(lambda *_: made[0].step())
        return optimizer

    compare(step, make)


def test_warmup_schedule_matches_the_paper():
    assert warmup(4000, 512) == pytest.approx(6.98771e-4, rel=1e-5)
    rates = [warmup(step, 512) for step in range(1, 20_000)]
    assert np.argmax(rates) == 3999 and rates[1] == pytest.approx(2 * rates[0])
    assert warmup(16_000, 512) == pytest.approx(warmup(4000, 512) / 2)


def test_optimizers_do_not_modify_their_arguments():
    parameters, grads = start(), gradients(1)
    adam(parameters, grads, Moments(), learning_rate=1.0)
    assert all(np.array_equal(each, start()[name]) for name, each in parameters.items())
