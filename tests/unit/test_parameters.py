from __future__ import annotations

import pytest

from transformer.config import TransformerConfig
from transformer.model import build
from transformer.parameters import parameter_table

SIZES = {"source_vocabulary": 50, "target_vocabulary": 50, "d_model": 16, "heads": 2, "d_ff": 32}


@pytest.mark.parametrize("tied", ["none", "target", "all"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_parts_add_up_to_the_whole(tied, norm, positions):
    config = TransformerConfig(**SIZES, tied_embeddings=tied, norm=norm, positions=positions)
    table = parameter_table(config)
    assert sum(count for _, count in table) == sum(p.numel() for p in build(config).parameters())
    assert len({part for part, _ in table}) == len(table)


def test_numbers_of_the_shipped_shape():
    config = TransformerConfig(
        source_vocabulary=8000, target_vocabulary=8000, d_model=256, d_ff=1024, tied_embeddings="all"
    )
    table = dict(parameter_table(config))
    assert table["token embedding, shared by source, target and output"] == 8000 * 256
    assert table["encoder: multi-head self-attention"] == 6 * 4 * (256 * 256 + 256)
    assert table["decoder: position-wise feed-forward network"] == 6 * (2 * 256 * 1024 + 1024 + 256)
    assert sum(table.values()) == 13_116_224
