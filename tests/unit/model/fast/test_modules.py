from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from transformer.model.fast.packing import Linear
from transformer.model.fast.modules import Embedding, LayerNorm, Module


class Pair(Module):
    def __init__(self):
        super().__init__()
        self.norm = LayerNorm(4)
        self.linear = Linear(4, 2)

    def forward(self, x):
        return self.linear(self.norm(x))


@pytest.fixture
def pair():
    torch.manual_seed(2)
    module = Pair()
    nn.init.normal_(module.norm.weight)
    nn.init.normal_(module.norm.bias)
    return module


def test_parameters_have_the_names_that_torch_gives_them(pair):
    names = ["norm.weight", "norm.bias", "linear.weight", "linear.bias"]
    assert list(pair.state_dict()) == [name for name, _ in pair.named_parameters()] == names


def test_a_copy_has_parts_of_its_own(pair):
    x = torch.randn(3, 4)
    before = pair(x)
    copied = copy.deepcopy(pair)
    nn.init.zeros_(copied.linear.weight)
    nn.init.zeros_(copied.linear.bias)
    assert not copied(x).any() and torch.equal(pair(x), before)


def test_what_takes_a_parts_place_is_used(pair):
    pair.linear = Linear(4, 3)
    assert pair(torch.randn(3, 4)).shape == (3, 3)
    assert pair.state_dict()["linear.weight"].shape == (3, 4)


def test_hooks_of_every_module_are_called(pair):
    seen = []
    for module in (pair, pair.norm, pair.linear):
        module.register_forward_hook(lambda module, *_: seen.append(module))
    pair(torch.randn(3, 4))
    assert seen == [pair.norm, pair.linear, pair]


def test_hooks_for_all_modules_are_called(pair):
    seen = []
    handle = register_module_forward_hook(lambda module, *_: seen.append(module))
    pair(torch.randn(3, 4))
    handle.remove()
    pair(torch.randn(3, 4))
    assert seen == [pair.norm, pair.linear, pair]


def test_hooks_of_the_backward_pass_are_called(pair):
    seen = []
    for module in (pair, pair.norm, pair.linear):
        module.register_full_backward_hook(lambda module, *_: seen.append(module))
    pair(torch.randn(3, 4, requires_grad=True)).sum().backward()
    assert seen == [pair.linear, pair.norm, pair]


def test_embedding_is_torchs():
    embedding, pieces = Embedding(5, 4), torch.tensor([[4, 0], [2, 4]])
    ours, expected = embedding(pieces), nn.functional.embedding(pieces, embedding.weight)
    assert torch.equal(ours, expected)
    (found,), (reference,) = (torch.autograd.grad(each.square().sum(), embedding.weight) for each in (ours, expected))
    assert torch.equal(found, reference)


def test_layer_norm_is_torchs(pair):
    expected = nn.LayerNorm(4)
    expected.load_state_dict(pair.norm.state_dict())
    x = torch.randn(2, 3, 4)
    assert torch.equal(pair.norm(x), expected(x))
