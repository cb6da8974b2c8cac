import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer.model.attention import CrossAttention, SelfAttention
from transformer.model.fast.modules import speed_up
from transformer.model.fast.packing import WORTH_ALL_CORES

pytestmark = pytest.mark.skipif(
    "fbgemm" not in torch.backends.quantized.supported_engines, reason="this CPU has no products of half precision"
)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(5)


def of_halves(module):
    """Round the weights of a module to half precision and pack them."""
    with torch.no_grad():
        for parameter in module.requires_grad_(False).parameters():
            parameter.copy_(parameter.half())
    speed_up(module)
    return module


@pytest.mark.parametrize("rows", [0, 1, 20, 100])
def test_packed_products_match_pytorch_on_one_core_and_on_all_cores(rows):
    """With 40 inputs and 7,000 outputs, one row is computed on one core and twenty rows on all cores."""
    assert 40 * 7_000 < WORTH_ALL_CORES < 20 * 40 * 7_000
    linear = of_halves(nn.Linear(40, 7_000))
    x = torch.randn(40, rows).T
    torch.testing.assert_close(linear(x), F.linear(x, linear.weight, linear.bias), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_packed_module_ignores_later_changes_to_its_weights(bias):
    linear = of_halves(nn.Linear(24, 36, bias=bias))
    x = torch.randn(1, 24)
    before = linear(x)
    linear.weight.zero_()
    assert torch.equal(linear(x), before)


@pytest.mark.parametrize("positions", [1, 4, 33])
def test_packed_query_and_key_value_projections_match_the_joint_projection(positions):
    attention = of_halves(CrossAttention(24, 3, dropout=0.0))
    x = torch.randn(2, positions, 24)
    # Self-attention computes all three projections in one product.
    query, memory = SelfAttention.project(attention, x)
    torch.testing.assert_close(attention.project_queries(x), query, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(attention.project_keys_and_values(x).joined, memory.joined, atol=1e-6, rtol=1e-5)


def test_weights_not_exact_in_half_precision_are_not_packed():
    linear = nn.Linear(24, 36).requires_grad_(False)
    speed_up(linear)
    x = torch.randn(3, 24)
    assert torch.equal(linear(x), F.linear(x, linear.weight, linear.bias))
