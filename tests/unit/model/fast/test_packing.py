from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

from transformer.config import TransformerConfig
from transformer.model.fast.packing import WORTH_ALL_CORES, Linear, pack_weights
from transformer.model.transformer import build

needs_half_products = pytest.mark.skipif(
    "fbgemm" not in torch.backends.quantized.supported_engines, reason="this CPU has no products of half precision"
)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(5)


@pytest.fixture(params=[True, False], ids=["bias", "no bias"])
def of_halves(request):
    """A map whose weights are numbers of half precision."""
    linear = Linear(24, 36, bias=request.param, split=12).requires_grad_(False)
    for parameter in linear.parameters():
        parameter.copy_(parameter.half())
    return linear


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rows", [1, 4, 33])
def test_the_parts_are_those_of_the_whole(of_halves, packed, rows):
    if packed:
        of_halves.pack()
    x = torch.randn(2, rows, 24)
    expected = F.linear(x, of_halves.weight, of_halves.bias)
    torch.testing.assert_close(of_halves(x), expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(of_halves.before_split(x), expected[..., :12], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(of_halves.after_split(x), expected[..., 12:], atol=1e-6, rtol=1e-5)


@needs_half_products
@pytest.mark.parametrize("rows", [0, 1, 20, 100])
def test_products_on_one_core_and_on_all_are_the_same_map(rows):
    """With 40 numbers in and 7,000 out, one row is a product for one core and twenty are one for all."""
    assert 40 * 7_000 < WORTH_ALL_CORES < 20 * 40 * 7_000
    linear = Linear(40, 7_000).requires_grad_(False)
    for parameter in linear.parameters():
        parameter.copy_(parameter.half())
    linear.pack()
    x = torch.randn(40, rows).T
    torch.testing.assert_close(linear(x), F.linear(x, linear.weight, linear.bias), atol=1e-6, rtol=1e-5)


@needs_half_products
def test_packed_weights_are_used(of_halves):
    of_halves.pack()
    x = torch.randn(1, 24)
    before = of_halves(x)
    of_halves.weight.zero_()
    assert torch.equal(of_halves(x), before)


def test_weights_that_half_precision_would_change_are_not_packed():
    linear = Linear(24, 36).requires_grad_(False)
    linear.pack()
    x = torch.randn(3, 24)
    assert torch.equal(linear(x), F.linear(x, linear.weight, linear.bias))


def test_a_packed_model_says_the_same():
    config = TransformerConfig(
        source_vocabulary=40, target_vocabulary=40, d_model=16, heads=4, encoder_layers=2, decoder_layers=2, d_ff=32,
        tied_embeddings="all",
    )
    plain = build(config).eval().requires_grad_(False)
    for parameter in plain.parameters():
        parameter.copy_(parameter.half())
    packed = copy.deepcopy(plain)
    pack_weights(packed)
    weights = dict(packed.named_parameters())
    assert weights.keys() == dict(plain.named_parameters()).keys()
    for name, parameter in plain.named_parameters():
        assert torch.equal(weights[name], parameter), name
    source, target = torch.randint(4, 40, (2, 2, 7))
    torch.testing.assert_close(packed(source, target), plain(source, target), atol=1e-5, rtol=1e-5)
