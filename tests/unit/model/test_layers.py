import pytest
import torch
from torch import nn

from transformer.config import TransformerConfig
from transformer.model.attention import AttentionContext
from transformer.model.kv_cache import LayerCache
from transformer.model.layers import DecoderLayer, EncoderLayer, LayerContext
from transformer.model.masks import causal_mask, padding_mask


def config(norm, activation):
    return TransformerConfig(
        source_vocabulary=5, target_vocabulary=5, d_model=16, heads=4, d_ff=24, norm=norm, activation=activation
    )


def copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(ours.in_projection.weight)
    theirs.in_proj_bias.copy_(ours.in_projection.bias)
    theirs.out_proj.load_state_dict(ours.out_projection.state_dict())


def copy_layer(ours, theirs, residuals):
    """Randomise our layer's weights and copy them into PyTorch's layer."""
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_(std=0.3)
        copy_attention(ours.self_attention, theirs.self_attn)
        if hasattr(ours, "cross_attention"):
            copy_attention(ours.cross_attention, theirs.multihead_attn)
        theirs.linear1.load_state_dict(ours.feed_forward.expand.state_dict())
        theirs.linear2.load_state_dict(ours.feed_forward.contract.state_dict())
        for number, residual in enumerate(residuals, start=1):
            getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())


# PyTorch's layers stay in training mode, without dropout, because their fast path for inference warns about its own
# nested tensors.
SAME = {"d_model": 16, "nhead": 4, "dim_feedforward": 24, "dropout": 0.0, "batch_first": True}


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_encoder_layer_matches_pytorch(norm, activation):
    torch.manual_seed(5)
    ours = EncoderLayer(config(norm, activation)).eval()
    theirs = nn.TransformerEncoderLayer(**SAME, activation=activation, norm_first=norm == "pre")
    copy_layer(ours, theirs, (ours.self_attention_residual, ours.feed_forward_residual))
    x = torch.randn(3, 6, 16)
    real = torch.arange(6) < torch.tensor([[6], [4], [1]])
    expected = theirs(x, src_key_padding_mask=~real)
    torch.testing.assert_close(
        ours(x, LayerContext(AttentionContext(padding_mask(real)))), expected, atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_decoder_layer_matches_pytorch(norm, activation):
    torch.manual_seed(6)
    ours = DecoderLayer(config(norm, activation)).eval()
    theirs = nn.TransformerDecoderLayer(**SAME, activation=activation, norm_first=norm == "pre")
    copy_layer(ours, theirs, (ours.self_attention_residual, ours.cross_attention_residual, ours.feed_forward_residual))
    x, memory = torch.randn(3, 5, 16), torch.randn(3, 6, 16)
    real = torch.arange(6) < torch.tensor([[6], [4], [1]])
    expected = theirs(x, memory, tgt_mask=~causal_mask(5), memory_key_padding_mask=~real)
    cache = LayerCache(memory=ours.cross_attention.project_keys_and_values(memory))
    context = LayerContext(AttentionContext(causal_mask(5)), AttentionContext(padding_mask(real)))
    actual = ours(x, context, cache)
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
