import pytest
import torch

from transformer.model.fast.dropout import dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_dropout_zeroes_the_requested_share_and_scales_up_the_rest(rate):
    torch.manual_seed(1)
    dropped = dropout(torch.ones(400, 1001), rate)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / (1 - rate)])
    # The tolerance is four standard deviations of a binomial proportion.
    assert (dropped == 0).double().mean() == pytest.approx(rate, abs=4 * (rate * (1 - rate) / dropped.numel()) ** 0.5)


def test_dropout_drops_neighbouring_values_independently():
    torch.manual_seed(2)
    gone = (dropout(torch.ones(1_000_000), 0.25) == 0).double()
    for distance in (1, 2, 3, 4, 8):
        both = (gone[distance:] * gone[:-distance]).mean()
        assert both == pytest.approx(0.25**2, abs=0.002), distance


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_gradients_pass_only_through_kept_values(dtype):
    torch.manual_seed(3)
    x = torch.randn(7, 5, 3).to(dtype).requires_grad_()
    y = dropout(x, 0.4)
    y.sum().backward()
    assert y.dtype == x.dtype
    torch.testing.assert_close(y.detach(), x.detach() * x.grad)


def test_dropout_is_repeatable_with_a_seed_and_does_nothing_in_inference():
    x = torch.randn(50)
    draws = []
    for _ in range(2):
        torch.manual_seed(4)
        draws.append(dropout(x, 0.5))
    assert torch.equal(*draws)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    assert dropout(torch.empty(0, 3), 0.5).shape == (0, 3)
