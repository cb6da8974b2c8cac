import pytest

from transformer.config import TransformerConfig
from transformer.model.parameter_counts import concatenation_table, parameter_table
from transformer.model.transformer import build

SIZES = {"source_vocabulary": 50, "target_vocabulary": 50, "d_model": 16, "heads": 2, "d_ff": 32}


@pytest.mark.parametrize("tied", ["none", "target", "all"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_parameter_counts_of_the_parts_add_up_to_the_total(tied, norm, positions):
    config = TransformerConfig(**SIZES, tied_embeddings=tied, norm=norm, positions=positions)
    table = parameter_table(config)
    assert sum(count for _, count in table) == sum(p.numel() for p in build(config).parameters())
    assert len({part for part, _ in table}) == len(table)


def test_parameter_counts_match_the_shipped_model():
    config = TransformerConfig(
        source_vocabulary=8000, target_vocabulary=8000, d_model=256, d_ff=1024, tied_embeddings="all"
    )
    table = dict(parameter_table(config))
    assert table["token embedding, shared by source, target and output"] == 8000 * 256
    assert table["encoder: multi-head self-attention"] == 6 * 4 * (256 * 256 + 256)
    assert table["decoder: position-wise feed-forward network"] == 6 * (2 * 256 * 1024 + 1024 + 256)
    assert sum(table.values()) == 13_116_224


def test_concatenating_positions_to_embeddings_doubles_the_width_of_later_layers():
    config = TransformerConfig(**SIZES, encoder_layers=1, decoder_layers=1)
    table = {row.part: (row.added, row.concatenated) for row in concatenation_table(config)}
    assert table["token embedding (source)"] == (50 * 16, 50 * 16)
    assert table["encoder: multi-head self-attention"] == (4 * (16 * 16 + 16), 4 * (32 * 32 + 32))
    assert table["decoder: position-wise feed-forward network"] == (2 * 16 * 32 + 32 + 16, 2 * 32 * 32 + 32 + 32)
    assert table["generator (output layer)"] == (50 * 16 + 50, 50 * 32 + 50)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("positions", ["sinusoidal_halves", "learned", "none"])
@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_parameter_table_for_concatenated_positions_covers_the_whole_model(tied, positions, bias):
    config = TransformerConfig(**SIZES, tied_embeddings=tied, positions=positions, output_bias=bias)
    table = concatenation_table(config)
    assert [(row.part, row.added) for row in table if row.added] == parameter_table(config)
    tables = 1 if tied == "all" else 2
    wide = TransformerConfig(**{**SIZES, "d_model": 32}, tied_embeddings="none", positions=positions, output_bias=bias)
    expected = sum(count for _, count in parameter_table(wide)) - 2 * 50 * 32 + tables * 50 * 16
    if positions == "learned":
        expected -= 2 * 512 * 16
    assert sum(row.concatenated for row in table) == expected
