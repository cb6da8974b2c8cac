import pytest
import torch

from transformer.config import RELATIVE, TransformerConfig, decoder_only
from transformer.model.edits import edits_of
from transformer.model.transformer import build
from transformer.values.interventions import Interventions

SIZES = {"d_model": 24, "heads": 3, "d_ff": 32, "max_positions": 8}


@pytest.fixture(params=RELATIVE)
def kind(request):
    torch.manual_seed(5)
    return request.param


@torch.inference_mode()
@pytest.mark.parametrize("attention", ["full", "local"])
def test_reading_token_by_token_with_relative_positions_matches_a_single_pass(kind, attention):
    """The text is longer than `max_positions`, which does not limit relative positions."""
    model = build(decoder_only(20, layers=2, **SIZES, positions=kind, attention=attention, block=4)).eval()
    ids = torch.randint(4, 20, (2, 13))
    cache, rows = model.start_cache(), []
    for column in ids.split(1, dim=1):
        row, cache = model.decode_step(column, cache)
        rows.append(row)
    torch.testing.assert_close(torch.cat(rows, dim=1), model.decode(ids, None), atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_relative_positions_depend_only_on_token_distances(kind):
    """Hides the first three tokens, so the output for the rest must be the same as without them."""
    model = build(decoder_only(20, layers=2, **SIZES, positions=kind)).eval()
    ids = torch.randint(4, 20, (1, 10))
    hidden = edits_of([Interventions(hidden_target=(0, 1, 2))], model.config)
    late = model.decode(ids, None, edits=hidden)[:, 3:]
    torch.testing.assert_close(late, model.decode(ids[:, 3:], None), atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_word_order_affects_the_output_only_with_positions(kind):
    config = TransformerConfig(
        source_vocabulary=20, target_vocabulary=20, encoder_layers=2, decoder_layers=1, **SIZES, positions=kind
    )
    model = build(config).eval()
    ids, order = torch.randint(4, 20, (1, 7)), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    without = edits_of([Interventions(positions=False)], config)
    found, moved = model.encode(ids, None, edits=without), model.encode(ids[:, order], None, edits=without)
    torch.testing.assert_close(moved, found[:, order], atol=1e-5, rtol=1e-5)
    assert (model.encode(ids[:, order], None) - model.encode(ids, None)[:, order]).abs().max() > 1e-3


def test_compressed_attention_rejects_relative_positions(kind):
    with pytest.raises(ValueError, match=f"positions='{kind}'"):
        decoder_only(20, layers=2, **SIZES, positions=kind, attention="compressed")
