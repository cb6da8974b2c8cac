import math

import numpy as np
import pytest
import torch

from tests.conftest import SENTENCES
from transformer.checkpoints.checkpoint import load_language_model
from transformer.checkpoints.model_files import save_model
from transformer.config import decoder_only
from transformer.errors import TextError
from transformer.language_modelling.bigrams import DISCOUNT, Bigrams
from transformer.language_modelling.evaluation import evaluate, evaluate_baselines, split_by_length
from transformer.language_modelling.scoring import score_text
from transformer.model.transformer import build


@pytest.fixture(scope="module")
def trained(tmp_path_factory, sentencepiece_tokenizer):
    folder = tmp_path_factory.mktemp("trained")
    torch.manual_seed(2)
    config = decoder_only(
        vocabulary=sentencepiece_tokenizer.size, d_model=16, heads=2, layers=2, d_ff=32, max_positions=40
    )
    save_model(folder, config, dict(build(config).named_parameters()), sentencepiece_tokenizer)
    return load_language_model(folder, "cpu")


@pytest.mark.parametrize("loaded", ["trained", "gpt2"])
def test_perplexity_of_a_batch_matches_the_scores_of_single_texts(request, loaded, trained, gpt2_folder, huggingface):
    """Covers GPT-2, whose padding token is an ordinary token."""
    loaded = trained if loaded == "trained" else load_language_model(gpt2_folder, "cpu")
    texts = [*split_by_length(loaded, SENTENCES)[0], "A."]
    scores = [score_text(loaded.model, loaded.tokenizer, text) for text in texts]
    found = evaluate(loaded, texts)
    total = sum(score.log_prob for score in scores)
    assert found.log_prob == pytest.approx(total, abs=1e-3)
    assert found.tokens == sum(len(score.tokens) for score in scores) and found.texts == len(texts)
    assert found.per_token == pytest.approx(math.exp(-total / found.tokens), rel=1e-4)
    assert found.per_word == pytest.approx(math.exp(-total / sum(len(text.split()) for text in texts)), rel=1e-4)
    size = sum(len(text.encode()) for text in texts)
    assert found.bits_per_byte == pytest.approx(-total / math.log(2) / size, rel=1e-4)


def test_texts_too_long_for_the_model_are_separated_before_evaluation(trained):
    assert split_by_length(trained, ["one", "x " * 100]) == (["one"], ["x " * 100])


@pytest.mark.parametrize(
    ("texts", "said"),
    [([], "There is no text to predict"), (["  "], "Text 1 has no tokens"), (["one", ""], "Text 2 has no tokens")],
)
def test_perplexity_of_empty_input_raises_an_error(trained, texts, said):
    with pytest.raises(TextError, match=said):
        evaluate(trained, texts)


def test_bigram_probabilities_sum_to_one():
    model = Bigrams([[3, 4, 5], [3, 4, 4, 6], [5]], size=8, start=2)
    for before in range(8):
        sums = sum(math.exp(model.log_prob([before, token]) - model.log_prob([before])) for token in range(8))
        assert sums == pytest.approx(1)
    assert sum(math.exp(model.unigram_log_prob([token])) for token in range(8)) == pytest.approx(1)


def test_bigram_probability_matches_its_formula():
    model = Bigrams([[3, 4], [3, 5], [3, 4]], size=8, start=2)
    # Token 3 is followed three times, by 2 different tokens. With add-one counts, token 4 has 3 of 14 occurrences.
    expected = (2 - DISCOUNT + DISCOUNT * 2 * 3 / 14) / 3
    assert math.exp(model.log_prob([3, 4]) - model.log_prob([3])) == pytest.approx(expected)
    assert math.exp(model.log_prob([3])) == pytest.approx((3 - DISCOUNT + DISCOUNT * 4 / 14) / 3)
    # Nothing follows token 7 in the training texts.
    assert math.exp(model.log_prob([7, 4]) - model.log_prob([7])) == pytest.approx(3 / 14)


def test_bigram_model_predicts_its_training_text_better_than_a_unigram_model(trained):
    single, pairs = evaluate_baselines(trained, SENTENCES, SENTENCES)
    assert np.isfinite(single.log_prob) and pairs.per_token < single.per_token / 3
    assert single.tokens == pairs.tokens
