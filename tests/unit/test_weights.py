import numpy as np
import pytest
import torch

from tests.conftest import ONE_SHAPE
from transformer.model.attention import SelfAttention
from transformer.values.trace import KINDS


def layer_of(translator, kind, layer):
    layers = translator._model.encoder_layers if kind == "encoder" else translator._model.decoder_layers
    return layers[layer].cross_attention if kind == "cross" else layers[layer].self_attention


def test_weights_list_a_shared_parameter_under_each_of_its_names(shaped_translator):
    arrays = shaped_translator.weights().arrays
    model = shaped_translator._model
    assert {name: array.shape for name, array in arrays.items()} == {
        name: tuple(value.shape) for name, value in model.named_parameters(remove_duplicate=False)
    }
    assert np.array_equal(arrays["generator.weight"], model.generator.weight.numpy())


@ONE_SHAPE
def test_weight_views_are_read_only_and_match_the_model(shaped_translator):
    weights = shaped_translator.weights()
    array = weights.arrays["source_embedding.weight"]
    assert array.ctypes.data == shaped_translator._model.source_embedding.weight.data_ptr()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0
    with pytest.raises(TypeError):
        weights.arrays["source_embedding.weight"] = array


@pytest.mark.parametrize("kind", KINDS)
def test_per_head_projection_matrices_match_the_projections_of_the_layer(shaped_translator, kind):
    found = shaped_translator.weights().attention(kind, 1)
    attention = layer_of(shaped_translator, kind, 1)
    torch.manual_seed(2)
    x = torch.randn(5, 24)
    # Self-attention computes all three projections in one product.
    query, memory = SelfAttention.project(attention, x[None])
    for matrix, bias, expected in (
        (found.query, found.query_bias, query),
        (found.key, found.key_bias, memory.keys),
        (found.value, found.value_bias, memory.values),
    ):
        assert matrix.shape == (3, 24, 8) and bias.shape == (3, 8)
        np.testing.assert_allclose(x.numpy() @ matrix + bias[:, None], expected[0].numpy(), atol=1e-5)
    heads = torch.randn(3, 5, 8)
    np.testing.assert_allclose(
        np.einsum("hnk,hkd->nd", heads.numpy(), found.output) + found.output_bias,
        attention.out_projection(heads.transpose(0, 1).flatten(1)).numpy(),
        atol=1e-5,
    )


def test_linear_map_and_norm_weights_match_the_modules_of_the_model(shaped_translator):
    weights, layer = shaped_translator.weights(), shaped_translator._model.encoder_layers[0]
    x = torch.randn(4, 24)
    expand = weights.linear("encoder_layers.0.feed_forward.expand")
    expected = layer.feed_forward.expand(x).numpy()
    np.testing.assert_allclose(x.numpy() @ expand.matrix + expand.bias, expected, atol=1e-5)
    gain, bias = weights.gain_and_bias("encoder_layers.0.feed_forward_residual.norm")
    assert np.array_equal(gain, layer.feed_forward_residual.norm.weight.numpy())
    assert np.array_equal(bias, layer.feed_forward_residual.norm.bias.numpy())
