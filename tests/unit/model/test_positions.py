from __future__ import annotations

import pytest
import torch

from transformer.config import TransformerConfig
from transformer.model.positions import PositionalEncoding, sinusoidal_positions


def config(positions, **changes):
    sizes = {"source_vocabulary": 9, "target_vocabulary": 9, "d_model": 8, "heads": 2, "max_positions": 6}
    return TransformerConfig(**{**sizes, **changes}, positions=positions)


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal_halves"])
def test_sinusoids_reach_beyond_the_table(kind):
    module = PositionalEncoding(config(kind))
    expected = sinusoidal_positions(10, 8, halves=kind == "sinusoidal_halves")
    torch.testing.assert_close(module(torch.zeros(1, 10, 8))[0], expected)
    torch.testing.assert_close(module(torch.zeros(1, 2, 8), start=7)[0], expected[7:9])
    assert list(module.state_dict()) == []


def test_learned_positions_are_added_and_run_out_with_a_message():
    module = PositionalEncoding(config("learned"))
    torch.nn.init.normal_(module.table)
    x = torch.randn(2, 4, 8)
    torch.testing.assert_close(module(x, start=2), x + module.table[2:6])
    with pytest.raises(ValueError, match="learned 6 positions and was asked for 7"):
        module(x, start=3)


def test_no_positions_change_nothing():
    x = torch.randn(2, 4, 8)
    assert torch.equal(PositionalEncoding(config("none"))(x), x)
