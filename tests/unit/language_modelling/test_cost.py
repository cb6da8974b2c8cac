from math import prod

import numpy as np
import pytest
import torch

from transformer.config import decoder_only
from transformer.files.paths import ASSETS
from transformer.language_modelling.cost import (
    ATTENTIONS,
    LENGTHS,
    Cost,
    RecordedCosts,
    cell_count,
    key_count,
    slope,
    slopes,
)
from transformer.language_modelling.cost_measurement import MODEL, configuration, measure, measurements, peak_bytes
from transformer.model.transformer import build

SIZES = {"vocabulary": 30, "d_model": 16, "heads": 2, "layers": 2, "d_ff": 8, "dropout": 0.0, "max_positions": 64}


def small(attention):
    torch.manual_seed(4)
    config = decoder_only(**SIZES, attention=attention, block=16, stride=3)
    return build(config).eval()


@pytest.mark.parametrize(
    ("attention", "length", "expected"),
    [
        ("full", 12, 12 * 12),
        ("full", 4096, 16_777_216),
        ("compressed", 12, 12 * 4),
        ("compressed", 13, 13 * 5),
        ("local", 16, 16 * 8),
        ("local", 32, 32 * 8),
        ("local", 5, 5 * 5),
        ("local", 17, 3 * 8 * 8),
    ],
)
def test_number_of_attention_cells_matches_the_formula(attention, length, expected):
    config = decoder_only(**SIZES, attention=attention, block=8, stride=3)
    assert cell_count(config, length) == expected


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("length", [5, 16, 17, 32])
def test_measured_memory_matches_the_formula(attention, length):
    model = small(attention)
    found = measure(model, length, repeats=1)
    assert (found.attention, found.length) == (attention, length)
    assert found.weights == 4 * cell_count(model.config, length)
    # Local attention pads the last block to full length.
    read = -(-length // 16) * 16 if attention == "local" and length > 16 else key_count(model.config, length)
    assert found.keys_and_values == 2 * 4 * 8 * read
    assert found.seconds > 0


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_training_stores_no_tensor_larger_than_the_attention_map(attention):
    """A mask over all pairs of tokens would show up among the tensors saved for the backward pass."""
    model, sizes = small(attention).train(), []
    tokens = torch.randint(30, (1, 48))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.shape) or x, lambda x: x):
        model(None, tokens).sum().backward()
    # Consider only tensors with four dimensions, such as masks and weights, [B, H, T, S].
    assert max(prod(shape) for shape in sizes if len(shape) == 4) == 2 * cell_count(model.config, 48)


def test_cost_measurement_skips_lengths_that_need_too_much_memory():
    lengths = (8, 16, 32)
    found = list(measurements(lengths, repeats=1))
    assert [(each.length, each.attention) for each in found] == [
        (length, attention) for length in lengths for attention in ATTENTIONS
    ]
    # A pass may use half of the available memory.
    enough = 2 * peak_bytes(configuration("full"), 16)
    found = list(measurements(lengths, repeats=1, available=enough))
    assert {each.length for each in found if each.attention == "full"} == {8, 16}
    assert {each.length for each in found if each.attention == "compressed"} == {8, 16}
    assert not list(measurements(lengths, repeats=1, available=0))


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5, 2.0])
def test_slope_is_the_exponent_of_a_power_law(exponent):
    lengths = [64, 128, 256, 1024]
    assert slope(lengths, [7.5 * length**exponent for length in lengths]) == pytest.approx(exponent)


def test_slope_matches_the_least_squares_fit():
    lengths, rng = [64, 128, 256, 512], np.random.default_rng(1)
    values = [length**1.7 * rng.uniform(0.5, 2) for length in lengths]
    assert slope(lengths, values) == pytest.approx(np.polyfit(np.log(lengths), np.log(values), 1)[0])


def test_slope_of_a_single_length_raises_an_error():
    with pytest.raises(ValueError, match="a slope needs at least two different lengths, not 1"):
        slope([64, 64], [1.0, 2.0])


def test_slope_is_fitted_only_to_texts_of_at_least_the_given_length():
    costs = [
        Cost("full", length, length**2, length, float(length**2) if length > 100 else 9.0)
        for length in (16, 64, 128, 256, 512)
    ]
    costs.append(Cost("local", 128, 1, 1, 1.0))
    assert slopes(costs, "seconds", first=128) == pytest.approx({"full": 2.0})
    assert slopes(costs, "keys_and_values", first=16) == pytest.approx({"full": 1.0})


def test_recorded_costs_survive_saving_and_loading():
    costs = Cost("full", 64, 7, 6, 0.5), Cost("local", 64, 5, 6, 0.25)
    recorded = RecordedCosts(costs, "a model", "two cores", "a command")
    assert RecordedCosts.from_json(recorded.to_json()) == recorded


def test_shipped_cost_measurements_match_the_formula():
    recorded = RecordedCosts.from_json((ASSETS / "attention_costs.json").read_text(encoding="utf-8"))
    assert [(each.length, each.attention) for each in recorded.costs] == [
        (length, attention) for length in LENGTHS for attention in ATTENTIONS
    ]
    for each in recorded.costs:
        config = configuration(each.attention)
        assert each.weights == 4 * cell_count(config, each.length)
        assert each.keys_and_values == 2 * 4 * config.d_model * key_count(config, each.length)
    assert recorded.model == MODEL
