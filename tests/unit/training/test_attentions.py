"""Tests that language models with different attention types are trained alike, and that their losses are measured."""

import math

import numpy as np
import pytest
import torch

from tests.conftest import SENTENCES
from transformer.checkpoints.checkpoint import load_language_model
from transformer.config import decoder_only
from transformer.errors import AtlasError
from transformer.language_modelling.attention_losses import AttentionLoss, RecordedLosses, mean_and_spread
from transformer.language_modelling.cost import ATTENTIONS
from transformer.language_modelling.scoring import score_text
from transformer.measurements.attention_comparison import compare_attentions, mean_loss
from transformer.model.transformer import build
from transformer.text.tokenizer import START
from transformer.training.contexts import ContextBatches, Contexts
from transformer.training.run_folder import RunFolder

WIDTH = 40


def contexts(tokenizer, texts=SENTENCES):
    return Contexts.of(texts, tokenizer, width=WIDTH, repeated=0.0, rng=np.random.default_rng(1))


@pytest.fixture
def run(tmp_path, tokenizer):
    folder = RunFolder(tmp_path / "run")
    folder.save_tokenizer(tokenizer)
    for name in ("train", "validation"):
        folder.save_data(name, contexts(tokenizer), tokenizer)
    return folder.path


def test_each_type_of_attention_is_trained_with_each_seed(run, tmp_path):
    output, models = tmp_path / "losses.json", tmp_path / "models"
    found = compare_attentions(run, output, steps=3, seeds=2, models=models)
    assert [(each.seed, each.attention) for each in found.losses] == [
        (seed, attention) for seed in (1, 2) for attention in ATTENTIONS
    ]
    assert RecordedLosses.from_json(output.read_text(encoding="utf-8")) == found
    assert "--steps 3 --seeds 2" in found.command
    full, local, compressed = (found.of(attention)[0] for attention in ATTENTIONS)
    assert full.parameters == local.parameters < compressed.parameters
    assert len({each.held_out for each in found.losses}) == 6
    for attention in ATTENTIONS:
        loaded = load_language_model(models / attention, "cpu")
        assert loaded.model.config.attention == attention
        assert np.isfinite(score_text(loaded.model, loaded.tokenizer, "The dog sleeps.").log_prob)


def test_same_seed_gives_the_same_model(run, tmp_path):
    one, same = (
        [each.held_out for each in compare_attentions(run, tmp_path / "x.json", steps=2, seeds=1).losses]
        for _ in range(2)
    )
    assert one == same


def test_mean_loss_matches_the_token_probabilities(tokenizer):
    torch.manual_seed(2)
    model = build(
        decoder_only(
            vocabulary=tokenizer.size, d_model=16, heads=2, layers=1, d_ff=16, max_positions=WIDTH, dropout=0.0
        )
    ).eval()
    data = contexts(tokenizer)
    total = 0.0
    for row, length in zip(data.tokens.astype(int), data.lengths, strict=True):
        read = torch.tensor([[START, *row[: length - 1]]])
        log_probs = model(None, read)[0].detach().log_softmax(dim=-1)
        total -= float(log_probs[range(length), row[:length]].sum())
    expected = total / data.lengths.sum()
    assert mean_loss(model, ContextBatches(data, tokens=2 * WIDTH, seed=0)) == pytest.approx(expected, abs=1e-5)


def test_loss_of_uniform_predictions_is_the_log_of_the_vocabulary_size(tokenizer):
    model = build(
        decoder_only(vocabulary=tokenizer.size, d_model=8, heads=1, layers=1, d_ff=8, max_positions=WIDTH, dropout=0.0)
    ).eval()
    with torch.no_grad():
        model.target_embedding.weight.zero_()
    batches = ContextBatches(contexts(tokenizer), tokens=WIDTH, seed=0)
    assert mean_loss(model, batches) == pytest.approx(math.log(tokenizer.size), abs=1e-5)


def test_invalid_number_of_seeds_is_rejected(run, tmp_path):
    for seeds in 0, 101:
        with pytest.raises(ValueError, match=f"--seeds must be at least 1 and at most 100, not {seeds}"):
            compare_attentions(run, tmp_path / "x.json", seeds=seeds)


def test_model_that_cannot_be_saved_is_reported_before_any_training(run, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "models" / "local" / "config.json").mkdir(parents=True)
    for models, said in ("file", "file could not be written"), ("models", "config.json is a folder"):
        with pytest.raises((AtlasError, OSError), match=said):
            compare_attentions(run, tmp_path / "x.json", steps=1_000_000, models=tmp_path / models)


def test_mean_and_spread_over_seeds_match_known_values():
    assert mean_and_spread([1.0, 2.0, 6.0]) == pytest.approx((3.0, 3.0))
    losses = tuple(AttentionLoss("local", seed, 5, 1.0, 2.0) for seed in (1, 2))
    assert RecordedLosses(losses, 256, 16, 3, 9, "", "", "", "").of("full") == ()
