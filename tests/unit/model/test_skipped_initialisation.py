import pytest
import torch
from torch import nn

from transformer.model.skipped_initialisation import SkippedInitialisation
from transformer.model.transformer import Transformer


def test_skipping_initialisation_draws_no_random_numbers(small_config):
    before = torch.random.get_rng_state()
    with SkippedInitialisation():
        Transformer(small_config)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_model_without_initialisation_has_all_parameters_on_the_chosen_device(small_config, device):
    with torch.device(device), SkippedInitialisation():
        model = Transformer(small_config)
    drawn = Transformer(small_config)
    assert {name: each.shape for name, each in model.named_parameters()} == {
        name: each.shape for name, each in drawn.named_parameters()
    }
    assert all(each.device.type == device for each in model.parameters())


def test_weights_are_initialised_again_after_skipped_initialisation():
    with SkippedInitialisation():
        pass
    torch.manual_seed(3)
    first = nn.Linear(4, 4)
    torch.manual_seed(3)
    assert torch.equal(nn.Linear(4, 4).weight, first.weight)
    assert first.weight.any()
