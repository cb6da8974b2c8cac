import dataclasses

import pytest
import torch

from transformer.config import TransformerConfig
from transformer.model.edits import edits_of
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer, build
from transformer.values.interventions import Interventions

SIZES = {
    "source_vocabulary": 20,
    "target_vocabulary": 20,
    "d_model": 16,
    "heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "d_ff": 24,
}


@pytest.fixture(params=["pre", "post"])
def model(request):
    torch.manual_seed(1)
    return build(TransformerConfig(**SIZES, norm=request.param, dropout=0.3)).eval()


@pytest.fixture
def pair():
    torch.manual_seed(2)
    return torch.randint(4, 20, (2, 6)), torch.randint(4, 20, (2, 5))


def edited(model, **changes):
    """Return edits for a batch of two, with the same interventions in both rows."""
    return edits_of([Interventions(**changes)] * 2, model.config)


def parameters(**changes):
    config = TransformerConfig(**{"source_vocabulary": 10, "target_vocabulary": 10, **changes})
    return sum(parameter.numel() for parameter in build(config).parameters())


def test_parameter_count_matches_the_formula():
    assert parameters(encoder_layers=2, decoder_layers=2) == 14_730_250


@pytest.mark.thorough
def test_parameter_count_matches_the_base_model_of_the_paper():
    # The expected count is that of the encoder, the decoder, and one shared embedding of 37,000 x 512.
    base = {"norm": "post", "tied_embeddings": "all", "output_bias": False}
    count = parameters(source_vocabulary=37_000, target_vocabulary=37_000, **base)
    assert count == 18_914_304 + 25_224_192 + 37_000 * 512


def test_parameter_names_match_the_checkpoints():
    config = TransformerConfig(**{**SIZES, "encoder_layers": 1, "decoder_layers": 1}, tied_embeddings="all")
    attention = ["in_projection.weight", "in_projection.bias", "out_projection.weight", "out_projection.bias"]
    feed_forward = ["expand.weight", "expand.bias", "contract.weight", "contract.bias"]
    norm = ["norm.weight", "norm.bias"]
    encoder = [f"self_attention.{name}" for name in attention] + [f"feed_forward.{name}" for name in feed_forward]
    decoder = encoder + [f"cross_attention.{name}" for name in attention]
    encoder = encoder + [f"{part}_residual.{n}" for part in ("self_attention", "feed_forward") for n in norm]
    decoder += [f"{part}_residual.{n}" for part in ("self_attention", "cross_attention", "feed_forward") for n in norm]
    expected = {"source_embedding.weight", "generator.bias"}
    expected |= {f"encoder_layers.0.{name}" for name in encoder}
    expected |= {f"decoder_layers.0.{name}" for name in decoder}
    expected |= {f"{stack}_norm.{name}" for stack in ("encoder", "decoder") for name in ("weight", "bias")}
    assert {name for name, _ in build(config).named_parameters()} == expected


@pytest.mark.parametrize(("tied", "shared"), [("none", 0), ("target", 1), ("all", 2)])
def test_tied_embeddings_share_one_matrix(tied, shared):
    model = build(TransformerConfig(**SIZES, tied_embeddings=tied))
    target = model.target_embedding.weight
    same = [model.generator.weight is target, model.source_embedding.weight is target]
    assert sum(same) == shared


def test_encoder_only_model_has_the_same_output_as_the_encoder_of_a_full_model(model, pair):
    config = dataclasses.replace(model.config, decoder_layers=0, target_vocabulary=0, tied_embeddings="none")
    alone = Transformer(config).eval()
    alone.load_state_dict({name: value for name, value in model.state_dict().items() if name in alone.state_dict()})
    assert {name.partition("_")[0] for name, _ in alone.named_parameters()} == {"source", "encoder"}
    torch.testing.assert_close(alone.encode(pair[0], None), model.encode(pair[0], None))


def test_initial_weights_are_xavier_uniform():
    torch.manual_seed(0)
    model = build(TransformerConfig(source_vocabulary=500, target_vocabulary=500, d_model=64, d_ff=128))
    layer = model.encoder_layers[0]
    for part in layer.self_attention.in_projection.weight.chunk(3):
        bound = (6 / (64 + 64)) ** 0.5
        assert part.abs().max() <= bound and part.abs().max() > 0.95 * bound
    bound = (6 / (64 + 128)) ** 0.5
    assert float(layer.feed_forward.expand.weight.detach().abs().max()) == pytest.approx(bound, rel=0.05)
    assert float(model.target_embedding.weight.detach().std()) == pytest.approx(64**-0.5, rel=0.05)
    assert not layer.self_attention.in_projection.bias.any()


def test_later_target_token_does_not_change_earlier_logits(model, pair):
    source, target = pair
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] - 3) % 16 + 4
    before, after = model(source, target), model(source, changed)
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_padding_does_not_change_the_logits(model, pair):
    source, target = pair
    padded_source = torch.cat([source, torch.zeros(2, 3, dtype=torch.long)], dim=1)
    padded_target = torch.cat([target, torch.zeros(2, 2, dtype=torch.long)], dim=1)
    plain = model(source, target)
    padded = model(padded_source, padded_target, source_mask=padded_source != 0)
    torch.testing.assert_close(padded[:, :5], plain, atol=1e-5, rtol=1e-5)


def test_sentences_of_a_batch_do_not_affect_each_other(model, pair):
    source, target = pair
    order = torch.tensor([1, 0])
    torch.testing.assert_close(model(source, target)[order], model(source[order], target[order]))


def test_recorder_stores_every_layer_without_changing_the_output(model, pair):
    source, target = pair
    real = torch.ones_like(source, dtype=torch.bool)
    record = Recorder(details=True)
    memory = model.encode(source, real, record=record)
    hidden = model.decode(target, memory, real, record=record)
    torch.testing.assert_close(model.generator(hidden), model(source, target), atol=1e-5, rtol=1e-5)
    assert [w.shape for w in record.tensors["encoder.weights"]] == [(2, 4, 6, 6)] * 2
    assert [w.shape for w in record.tensors["decoder.weights"]] == [(2, 4, 5, 5)] * 3
    assert [w.shape for w in record.tensors["cross.weights"]] == [(2, 4, 5, 6)] * 3
    for kind in ("encoder", "decoder", "cross"):
        for weights in record.tensors[f"{kind}.weights"]:
            torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-6, rtol=0)
    assert len(record.tensors["encoder.residual"]) == 1 + 2 * 2
    assert len(record.tensors["decoder.residual"]) == 1 + 3 * 3
    last = record.tensors["decoder.residual"][-1]
    torch.testing.assert_close(model.decoder_norm(last), hidden)


def test_reading_token_by_token_matches_reading_all_tokens_together(model, pair):
    source, target = pair
    real = torch.ones_like(source, dtype=torch.bool)
    memory = model.encode(source, real)
    cache = model.start_cache(memory, real)
    parts = []
    for start, end in ((0, 1), (1, 3), (3, 5)):
        hidden, cache = model.decode_step(target[:, start:end], cache)
        parts.append(hidden)
    torch.testing.assert_close(torch.cat(parts, dim=1), model.decode(target, memory, real), atol=1e-5, rtol=1e-5)


def test_each_reordered_cache_row_continues_its_own_sentence(model, pair):
    source, target = pair
    real = torch.ones_like(source, dtype=torch.bool)
    _, cache = model.decode_step(target[:, :2], model.start_cache(model.encode(source, real), real))
    rows = torch.tensor([1, 1, 0])
    plain, _ = model.decode_step(target[:, 2:3], cache)
    chosen, _ = model.decode_step(target[rows, 2:3], cache.select(rows))
    torch.testing.assert_close(chosen, plain[rows], atol=1e-5, rtol=1e-5)


def test_later_tokens_change_earlier_logits_without_the_decoder_mask(model, pair):
    source, target = pair
    real = torch.ones_like(source, dtype=torch.bool)
    memory = model.encode(source, real)
    changed = target.clone()
    changed[:, 3] = (changed[:, 3] - 3) % 16 + 4
    masked = model.decode(target, memory, real)
    record, edits = Recorder(details=True), edited(model, decoder_mask=False)
    before = model.decode(target, memory, real, edits=edits, record=record)
    after = model.decode(changed, memory, real, edits=edits)
    assert not torch.allclose(before[:, :3], after[:, :3])
    for weights, scores in zip(record.tensors["decoder.weights"], record.tensors["decoder.scores"], strict=True):
        assert (weights > 0).all()
        torch.testing.assert_close(weights, scores.softmax(-1))
    assert torch.equal(model.decode(target, memory, real), masked), "the next run has its mask again"


def test_without_positions_shuffling_the_tokens_only_shuffles_the_output(model, pair):
    source, _ = pair
    real = torch.ones_like(source, dtype=torch.bool)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    normal = model.encode(source, real)
    assert not torch.allclose(model.encode(source[:, order], real), normal[:, order], atol=1e-2)
    edits = edited(model, positions=False)
    plain = model.encode(source, real, edits=edits)
    torch.testing.assert_close(model.encode(source[:, order], real, edits=edits), plain[:, order], atol=1e-5, rtol=1e-5)
    assert torch.equal(model.encode(source, real), normal), "the next run has its positions again"


def test_cached_decoding_steps_apply_the_interventions_of_the_whole_run(model, pair):
    source, target = pair
    real = torch.ones_like(source, dtype=torch.bool)
    edits = edited(model, positions=False)
    memory = model.encode(source, real, edits=edits)
    _, cache = model.decode_step(target[:, :2], model.start_cache(memory, real, edits=edits))
    rows = torch.tensor([0, 1])
    hidden, cache = model.decode_step(target[:, 2:], cache.select(rows).select_past(rows))
    expected = model.decode(target, memory, real, edits=edits)
    torch.testing.assert_close(hidden, expected[:, 2:], atol=1e-5, rtol=1e-5)
    assert cache.edits.interventions == edits.interventions


def test_dropout_is_applied_only_in_training(model, pair):
    assert torch.equal(model(*pair), model(*pair))
    model.train()
    assert not torch.equal(model(*pair), model(*pair))
