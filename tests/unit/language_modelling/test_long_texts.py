import pytest
import torch

from transformer.config import decoder_only
from transformer.errors import InterventionError, TextError
from transformer.language_modelling.attention_map import attention_mask, attention_weights, map_of_text
from transformer.language_modelling.continuation import start_after
from transformer.model.attention import scaled_dot_product_attention
from transformer.model.blocks import Blocks
from transformer.model.compression import Compression
from transformer.model.edits import edits_of
from transformer.model.kv_cache import KeysAndValues
from transformer.model.masks import compressed_mask, local_mask
from transformer.model.recorder import Recorder
from transformer.model.transformer import build
from transformer.values.interventions import Interventions

LENGTH = 14
KINDS = [{"attention": "full"}, {"attention": "local", "block": 4}, {"attention": "compressed", "stride": 3}]


def small(vocabulary=40, **choices):
    torch.manual_seed(6)
    sizes = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 20, "max_positions": 32, "dropout": 0.0}
    return build(decoder_only(vocabulary=vocabulary, **sizes, **choices)).eval()


def tokens():
    return torch.randint(40, (3, LENGTH), generator=torch.Generator().manual_seed(5))


def kinds(function):
    return pytest.mark.parametrize("choices", KINDS, ids=lambda choices: choices["attention"])(function)


@kinds
def test_logits_do_not_depend_on_later_tokens(choices):
    model, ids = small(**choices), tokens()
    for at in range(LENGTH):
        changed = ids.clone()
        changed[:, at] = (changed[:, at] + 1) % 40
        torch.testing.assert_close(model(None, changed)[:, :at], model(None, ids)[:, :at], atol=1e-6, rtol=0)
        assert (model(None, changed)[:, at] != model(None, ids)[:, at]).any()


@kinds
def test_reading_token_by_token_matches_reading_in_one_pass(choices):
    model, ids = small(**choices), tokens()
    with torch.inference_mode():
        expected, cache = model(None, ids), start_after(model, ids[:, :1])
        for at in range(LENGTH):
            hidden, cache = model.decode_step(ids[:, at : at + 1], cache)
            torch.testing.assert_close(model.generator(hidden)[:, 0], expected[:, at], atol=1e-5, rtol=0)


@kinds
def test_recording_attention_gives_the_same_logits_as_the_fused_pass(choices):
    model, ids = small(**choices), tokens()
    # On a CPU, the fused kernel runs only without gradients.
    with torch.inference_mode():
        fused, recorded = model(None, ids), model(None, ids, record=Recorder(details=False))
    torch.testing.assert_close(fused, recorded, atol=1e-5, rtol=0)


@kinds
def test_gradients_are_finite_for_every_attention_variant(choices):
    model, ids = small(**choices), tokens()
    model(None, ids).square().mean().backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("choices", KINDS[1:], ids=lambda choices: choices["attention"])
@pytest.mark.parametrize(
    "changes", [{"gates": {("decoder", 0, 0): 0.0}}, {"hidden_target": (1,)}, {"decoder_mask": False}]
)
def test_interventions_on_local_or_compressed_attention_raise_an_error(choices, changes):
    model = small(**choices)
    edits = edits_of([Interventions(**changes)] * 3, model.config)
    with pytest.raises(InterventionError, match=f"The {choices['attention']} attention of this model cannot"):
        model(None, tokens(), edits=edits)


@kinds
def test_positions_can_be_switched_off_for_every_attention_variant(choices):
    model = small(**choices)
    edits = edits_of([Interventions(positions=False)] * 3, model.config)
    assert not torch.equal(model(None, tokens(), edits=edits), model(None, tokens()))


@pytest.mark.parametrize("block", [LENGTH, 100])
def test_local_attention_with_a_single_block_matches_full_attention(block):
    full, local = small(), small(attention="local", block=block)
    local.load_state_dict(full.state_dict())
    assert torch.equal(local(None, tokens()), full(None, tokens()))


def test_blockwise_local_attention_matches_masked_full_attention():
    generator = torch.Generator().manual_seed(2)
    query, key, value = torch.randn(3, 2, 3, LENGTH, 5, generator=generator)
    expected = scaled_dot_product_attention(query, key, value, local_mask(LENGTH, 4))
    blocks = Blocks(4, 0, LENGTH)
    memory = blocks.split_keys_and_values(KeysAndValues.of(key, value))
    found = scaled_dot_product_attention(
        blocks.split_queries(query), memory.keys, memory.values, blocks.mask(query.device)
    )
    assert found.weights.shape == (2 * 4, 3, 4, 4)
    torch.testing.assert_close(blocks.whole_map(found.weights), expected.weights)
    joined = blocks.join(found.output.transpose(1, 2).flatten(2))
    torch.testing.assert_close(joined, expected.output.transpose(1, 2).flatten(2))


@kinds
@pytest.mark.parametrize("cuts", [(3, 9), (4, 8), (1, 6), (2, 3), (5, 13)])
def test_reading_several_tokens_per_step_matches_reading_in_one_pass(choices, cuts):
    """The parts between the cuts begin or end at a block boundary, or span several blocks."""
    model, ids = small(**choices), tokens()
    with torch.inference_mode():
        expected, cache, before = model(None, ids), start_after(model, ids[:, :1]), 0
        for after in (*cuts, LENGTH):
            hidden, cache = model.decode_step(ids[:, before:after], cache)
            torch.testing.assert_close(model.generator(hidden), expected[:, before:after], atol=1e-5, rtol=0)
            before = after


@kinds
def test_attention_weights_are_positive_exactly_in_the_allowed_cells(choices):
    model = small(**choices)
    weights, allowed = attention_weights(model, tokens()), attention_mask(model.config, LENGTH)
    assert weights.shape[-2:] == allowed.shape
    assert (weights[..., ~allowed] == 0).all()
    assert (weights[..., allowed] > 0).all()


def test_local_attention_has_no_weight_outside_its_block():
    model, ids = small(attention="local", block=4), tokens()
    weights = attention_weights(model, ids)
    outside = ~local_mask(LENGTH, 4)
    assert (weights[..., outside] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 3, 2, LENGTH))
    changed = ids.clone()
    changed[:, 3] = (changed[:, 3] + 1) % 40
    assert torch.equal(model(None, changed)[:, 4:], model(None, ids)[:, 4:])


def test_compression_with_stride_one_and_identity_weights_matches_full_attention():
    full, compressed = small(), small(attention="compressed", stride=1)
    compressed.load_state_dict(full.state_dict(), strict=False)
    with torch.no_grad():
        for layer in compressed.decoder_layers:
            for convolution in (layer.self_attention.compression.keys, layer.self_attention.compression.values):
                convolution.weight.copy_(torch.eye(8).repeat(2, 1)[..., None])
                convolution.bias.zero_()
    torch.testing.assert_close(compressed(None, tokens()), full(None, tokens()), atol=1e-5, rtol=0)
    found, expected = (attention_weights(model, tokens()) for model in (compressed, full))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("length", range(1, 8))
def test_compressed_attention_map_has_one_column_per_three_tokens(length):
    weights = attention_weights(small(attention="compressed"), tokens()[:, :length])
    columns = -(-length // 3)
    assert weights.shape == (2, 3, 2, length, columns)
    for query in range(length):
        complete = (query + 1) // 3
        assert (weights[..., query, complete:] == 0).all()
        torch.testing.assert_close(weights[..., query, :].sum(dim=-1), torch.full((2, 3, 2), float(complete > 0)))


def test_local_and_compressed_masks_match_their_definition():
    assert compressed_mask(5, 3).int().tolist() == [[0, 0], [0, 0], [1, 0], [1, 0], [1, 0]]
    assert local_mask(4, 2).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]


def test_compressed_keys_and_values_match_the_weighted_sum_of_the_paper():
    """In each head, a compressed key or value is a weighted sum over three positions."""
    torch.manual_seed(1)
    compression = Compression(8, 2, 3)
    keys, values = torch.randn(2, 2, 2, 7, 4)
    shortened = compression(KeysAndValues.of(keys, values))
    parts = (compression.keys, keys, shortened.keys), (compression.values, values, shortened.values)
    for convolution, x, found in parts:
        weight, bias = convolution.weight.unflatten(0, (2, 4)), convolution.bias.unflatten(0, (2, 4))
        assert found.shape == (2, 2, 3, 4)
        for column in range(3):
            expected = bias + sum(
                torch.einsum("hok,bhk->bho", weight[..., at], x[:, :, 3 * column + at])
                for at in range(3)
                if 3 * column + at < 7
            )
            torch.testing.assert_close(found[:, :, column], expected)


@kinds
def test_each_column_of_an_attention_map_lists_its_tokens(choices, sentencepiece_tokenizer):
    model = small(sentencepiece_tokenizer.size, **choices)
    text = "The dog sleeps."
    found = map_of_text(model, sentencepiece_tokenizer, text, most=30)
    length = len(found.tokens)
    assert found.tokens[0].role == "start" and found.tokens[1:] == sentencepiece_tokenizer.encode(text, end=False)
    step = 3 if choices["attention"] == "compressed" else 1
    assert found.weights.shape == (2, 2, length, -(-length // step))
    assert found.allowed.shape == found.weights.shape[2:]
    assert [row for held in found.columns for row in held] == list(range(length))
    assert {len(held) for held in found.columns[:-1]} == {step}
    assert (found.weights[..., ~found.allowed] == 0).all()
    for refused, message in (("", "no text"), ("  ", "no text"), (text * 9, "a map has room for 30: shorten the text")):
        with pytest.raises(TextError, match=message):
            map_of_text(model, sentencepiece_tokenizer, refused, most=30)
