import math

import pytest
import torch

from tests.conftest import SENTENCES
from transformer.checkpoints.checkpoint import load_language_model
from transformer.checkpoints.model_files import save_model
from transformer.config import decoder_only
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.head_scores import head_scores
from transformer.language_modelling.scoring import score_text
from transformer.model.transformer import build
from transformer.values.decoding_settings import DecodingSettings

SIZES = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 32, "max_positions": 64}


@pytest.fixture(params=["learned", "sinusoidal"])
def config(request, tokenizer):
    return decoder_only(vocabulary=tokenizer.size, positions=request.param, **SIZES)


@pytest.fixture
def tokenizer(sentencepiece_tokenizer):
    return sentencepiece_tokenizer


@pytest.fixture
def trained(config, tokenizer, tmp_path):
    """Return a folder, and the model that was saved in it."""
    torch.manual_seed(1)
    model = build(config).eval()
    save_model(tmp_path, config, dict(model.named_parameters()), tokenizer)
    return tmp_path, model


def test_model_saved_in_half_precision_loads_with_all_its_weights_and_settings(trained, config, tokenizer):
    folder, model = trained
    loaded = load_language_model(folder, "cpu")
    assert loaded.model.config == config and loaded.tokenizer.fingerprint == tokenizer.fingerprint
    assert not loaded.model.training and loaded.card == loaded.curve == "" and loaded.device == "cpu"
    assert loaded.parameters == sum(parameter.numel() for parameter in model.parameters())
    for (name, ours), theirs in zip(model.named_parameters(), loaded.model.parameters(), strict=True):
        assert torch.equal(ours.half().float(), theirs), name


def test_loaded_sentencepiece_language_model_scores_and_continues_a_text(trained):
    loaded = load_language_model(trained[0], "cpu")
    text = SENTENCES[0]
    score = score_text(loaded.model, loaded.tokenizer, text)
    assert not any(token.special for token in score.tokens) and math.isfinite(score.log_prob)
    found = continue_text(loaded.model, loaded.tokenizer, text, DecodingSettings(), limit=5)
    assert found.text.startswith(text) and found.beginning == score.tokens
    assert head_scores(loaded.model).induction.shape == (2, 2)


def test_model_version_changes_with_its_weights(trained, config, tokenizer):
    folder, model = trained
    before = load_language_model(folder, "cpu").version
    assert load_language_model(folder, "cpu").version == before
    weights = {name: parameter + 1 for name, parameter in model.named_parameters()}
    save_model(folder, config, weights, tokenizer)
    assert load_language_model(folder, "cpu").version != before
