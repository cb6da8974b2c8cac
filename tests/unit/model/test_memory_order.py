from __future__ import annotations

import copy

import torch

from transformer.config import TransformerConfig
from transformer.model import arrange_for_single_pieces, build


def test_only_the_order_in_memory_changes():
    config = TransformerConfig(
        source_vocabulary=40, target_vocabulary=40, d_model=16, heads=4, encoder_layers=1, decoder_layers=1, d_ff=32,
        tied_embeddings="all",
    )
    plain = build(config).eval()
    arranged = copy.deepcopy(plain)
    arrange_for_single_pieces(arranged)
    weights = dict(arranged.named_parameters())
    for name, parameter in plain.named_parameters():
        assert torch.equal(weights[name], parameter), name
    layer = arranged.decoder_layers[0]
    for widening in (layer.feed_forward.expand, layer.self_attention.in_projection, arranged.generator):
        assert widening.weight.stride(0) == 1
    assert layer.feed_forward.contract.weight.stride(1) == 1
    assert arranged.generator.weight is arranged.source_embedding.weight, "the tied matrices still share memory"
    source, target = torch.randint(4, 40, (2, 2, 7))
    torch.testing.assert_close(arranged(source, target), plain(source, target), atol=1e-5, rtol=1e-5)
