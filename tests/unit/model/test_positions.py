import pytest
import torch

from transformer.config import TransformerConfig
from transformer.model.linear_biases import biases
from transformer.model.positions import PositionalEncoding
from transformer.model.sinusoids import sinusoids


def config(positions, **changes):
    sizes = {"source_vocabulary": 9, "target_vocabulary": 9, "d_model": 8, "heads": 2, "max_positions": 6}
    return TransformerConfig(**{**sizes, **changes}, positions=positions)


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal_halves"])
def test_sinusoidal_positions_extend_beyond_the_stored_table(kind):
    module = PositionalEncoding(config(kind))
    expected = torch.from_numpy(sinusoids(10, 8, halves=kind == "sinusoidal_halves")).float()
    torch.testing.assert_close(module(torch.zeros(1, 10, 8))[0], expected)
    torch.testing.assert_close(module(torch.zeros(1, 2, 8), start=7)[0], expected[7:9])
    assert list(module.state_dict()) == []


def test_learned_positions_are_added_to_the_input_and_limit_the_text_length():
    module = PositionalEncoding(config("learned"))
    torch.nn.init.normal_(module.table)
    x = torch.randn(2, 4, 8)
    torch.testing.assert_close(module(x, start=2), x + module.table[2:6])
    with pytest.raises(ValueError, match="6 learned positions, but 7 are needed"):
        module(x, start=3)


def test_model_without_positions_adds_nothing_to_the_input():
    x = torch.randn(2, 4, 8)
    assert torch.equal(PositionalEncoding(config("none"))(x), x)


def test_linear_biases_of_the_last_queries_are_added_to_the_attention_scores():
    relative = PositionalEncoding(config("alibi")).relative(3)
    scores = torch.randn(2, 2, 3, 5)
    expected = torch.from_numpy(biases(2, 5)).float()[:, 2:]
    torch.testing.assert_close(relative.add_biases(scores), scores + expected)
    assert PositionalEncoding(config("sinusoidal")).relative(3) is None


@pytest.mark.parametrize("start", [0, 3, 11])
def test_rotary_positions_match_complex_rotation(start):
    """Rotation at position p multiplies x_2k + i x_2k+1 by exp(i p theta_k) (Su et al. 2021, equations 12 and 15)."""
    x = torch.randn(2, 3, 4, 4)
    rotated = PositionalEncoding(config("rotary")).relative(4, start=start).rotate(x)
    theta = 10_000.0 ** -torch.tensor([0.0, 0.5])
    phase = torch.exp(1j * torch.arange(start, start + 4)[:, None] * theta)
    expected = torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (2, 2))) * phase).flatten(-2)
    torch.testing.assert_close(rotated, expected, atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match="even head width, not 1"):
        config("rotary", heads=8)
