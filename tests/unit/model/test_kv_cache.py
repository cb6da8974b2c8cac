import pytest
import torch

from transformer.model.attention import SelfAttention
from transformer.model.kv_cache import BLOCK


@pytest.fixture
def attention():
    torch.manual_seed(3)
    module = SelfAttention(12, 3, dropout=0.4).eval()
    torch.nn.init.normal_(module.in_projection.bias)
    return module


@torch.inference_mode()
def test_appending_to_the_cache_keeps_positions_in_order(attention):
    x = torch.randn(1, 5, 12)
    _, whole = attention.project(x)
    _, early = attention.project(x[:, :3])
    _, late = attention.project(x[:, 3:])
    torch.testing.assert_close(early.append(late).joined, whole.joined)


@torch.inference_mode()
def test_two_continuations_of_one_cache_do_not_affect_each_other(attention):
    """Appending to a cache writes in place, but must not change another cache that shares its memory."""
    x = torch.randn(2, BLOCK + 6, 12)
    one, other = torch.randn(2, 2, 1, 12)
    _, seen = attention.project(x[:, :3])
    for position in range(3, x.shape[1]):
        seen = seen.append(attention.project(x[:, position : position + 1])[1])
    ways = {}
    for name, more in (("one", one), ("other", other), ("swapped", one)):
        start = seen.select(torch.tensor([1, 0])) if name == "swapped" else seen
        ways[name] = start.append(attention.project(more)[1])
    for name, more in (("one", one), ("other", other), ("swapped", one)):
        _, whole = attention.project(torch.cat([x[[1, 0]] if name == "swapped" else x, more], dim=1))
        torch.testing.assert_close(ways[name].joined, whole.joined)
    torch.testing.assert_close(seen.joined, attention.project(x)[1].joined)
