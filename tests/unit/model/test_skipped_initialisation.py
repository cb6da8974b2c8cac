from __future__ import annotations

import pytest
import torch
from torch import nn

from transformer.config import TransformerConfig
from transformer.model.skipped_initialisation import SkippedInitialisation
from transformer.model.transformer import Transformer

CONFIG = TransformerConfig(
    source_vocabulary=40,
    target_vocabulary=40,
    d_model=16,
    heads=4,
    encoder_layers=2,
    decoder_layers=2,
    d_ff=32,
    tied_embeddings="all",
    positions="learned",
)


def test_no_random_numbers_are_drawn():
    before = torch.random.get_rng_state()
    with SkippedInitialisation():
        Transformer(CONFIG)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_all_else_is_unchanged(device):
    with torch.device(device), SkippedInitialisation():
        model = Transformer(CONFIG)
    drawn = Transformer(CONFIG)
    assert {name: each.shape for name, each in model.named_parameters()} == {
        name: each.shape for name, each in drawn.named_parameters()
    }
    assert all(each.device.type == device for each in model.parameters())


def test_weights_are_drawn_again_afterwards():
    with SkippedInitialisation():
        pass
    torch.manual_seed(3)
    first = nn.Linear(4, 4)
    torch.manual_seed(3)
    assert torch.equal(nn.Linear(4, 4).weight, first.weight)
    assert first.weight.any()
