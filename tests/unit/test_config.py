import dataclasses
import itertools
import json

import pytest
import torch

from transformer.config import CHOICES, TransformerConfig, decoder_only
from transformer.model.transformer import build

SMALL = {
    "source_vocabulary": 11,
    "target_vocabulary": 11,
    "d_model": 8,
    "heads": 2,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "d_ff": 16,
    "max_positions": 12,
}


def test_config_survives_a_json_round_trip():
    config = TransformerConfig(**SMALL, norm="post", tied_embeddings="all", dropout=0.25, scale_embedding=False)
    assert TransformerConfig.from_json(config.to_json()) == config


def test_config_field_added_in_a_later_version_is_written_only_if_set():
    """A field that was added later is written only if it differs from the default, so older checksums still match."""
    config = TransformerConfig(**SMALL, unapplied=("num_beams 6",))
    assert TransformerConfig.from_json(config.to_json()) == config
    assert "unapplied" not in TransformerConfig(**SMALL).to_json()


def test_changing_a_config_field_raises_an_error():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TransformerConfig(**SMALL).heads = 4


def test_head_width_is_the_model_width_divided_by_the_number_of_heads():
    assert TransformerConfig(**SMALL).d_head == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_model": 10, "heads": 4}, "10 is not a multiple of 4"),
        ({"d_model": 9, "heads": 3}, "even d_model, not 9"),
        ({"heads": 0}, "heads .* not 0"),
        ({"unapplied": "num_beams 6"}, "unapplied must be at most 200 strings"),
        ({"unapplied": ("x" * 201,)}, "strings of at most 200 characters each"),
        ({"d_ff": 2.5}, "d_ff .* not 2.5"),
        ({"encoder_layers": True}, "encoder_layers .* not True"),
        ({"dropout": 1.0}, "dropout .* not 1.0"),
        ({"dropout": "much"}, "dropout .* not 'much'"),
        ({"activation": "tanh"}, "relu, gelu, gelu_tanh, silu, not 'tanh'"),
        ({"norm": None}, "pre, post, not None"),
        ({"attention": "sparse"}, "attention must be one of full, local, compressed"),
        ({"stride": 0}, "stride must be a whole number of at least 1"),
        ({"block": 1.5}, "block must be a whole number of at least 1"),
        ({"output_bias": 1}, "output_bias must be true or false, not 1"),
        ({"tied_embeddings": "all", "target_vocabulary": 12}, "source_vocabulary is 11 and target_vocabulary is 12"),
    ],
)
def test_invalid_or_contradictory_values_are_reported(change, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**{**SMALL, **change})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "JSON object, not list"),
        ("{", "Expecting"),
        ('{"source_vocabulary": 5}', "missing field.*target_vocabulary"),
        (json.dumps({**SMALL, "depth": 3}), "unknown field.*depth"),
    ],
)
def test_invalid_config_file_is_rejected(text, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder_layers": 0}, "encoder_layers is 0, and source_vocabulary is 11"),
        ({"target_vocabulary": 0}, "decoder_layers is 1, and target_vocabulary is 0"),
        ({"encoder_layers": 0, "decoder_layers": 0}, "encoder_layers and decoder_layers are both 0"),
        ({"decoder_layers": 0, "target_vocabulary": 0, "tied_embeddings": "target"}, "needs a decoder"),
        ({"attention": "local"}, "attention='local' needs encoder_layers=0, not 2"),
    ],
)
def test_config_rejects_settings_for_a_missing_encoder_or_decoder(change, message):
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**{**SMALL, **change})


def test_attention_kinds_match_the_stacks_of_the_model():
    both, decoder = TransformerConfig(**SMALL), decoder_only(11, d_model=8, heads=2, layers=3)
    encoder = TransformerConfig(**{**SMALL, "decoder_layers": 0, "target_vocabulary": 0})
    assert (both.kinds, decoder.kinds, encoder.kinds) == (("encoder", "decoder", "cross"), ("decoder",), ("encoder",))
    assert [decoder.layers_of(kind) for kind in both.kinds] == [0, 3, 0]


@pytest.mark.parametrize("tied", [True, False])
def test_language_model_config_of_an_old_version_is_read(tied):
    former = {"vocabulary": 11, "d_model": 8, "heads": 2, "layers": 3, "attention": "local", "block": 4}
    today = decoder_only(11, d_model=8, heads=2, layers=3, attention="local", block=4, tied_output=tied)
    assert TransformerConfig.from_json(json.dumps({**former, "tied_output": tied})) == today
    assert TransformerConfig.from_json(today.to_json()) == today


CHOICE_COMBINATIONS = [dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values())]


@pytest.mark.parametrize("choice", CHOICE_COMBINATIONS, ids=lambda choice: "-".join(choice.values()))
def test_every_combination_of_options_gives_logits_and_finite_gradients(choice):
    torch.manual_seed(0)
    model = build(TransformerConfig(**SMALL, **choice))
    source, target = torch.randint(11, (2, 5)), torch.randint(11, (2, 4))
    logits = model(source, target)
    assert logits.shape == (2, 4, 11)
    logits.logsumexp(-1).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_embedding_scaling_and_output_bias_follow_the_config(scale, bias):
    model = build(TransformerConfig(**SMALL, scale_embedding=scale, output_bias=bias, positions="none"))
    tokens = torch.tensor([[3]])
    model.eval()
    embedded = model._embed(tokens, model.source_embedding, model.source_positions, model.source_norm)
    factor = 8**0.5 if scale else 1.0
    torch.testing.assert_close(embedded[0, 0], model.source_embedding.weight[3] * factor)
    assert (model.generator.bias is not None) is bias
