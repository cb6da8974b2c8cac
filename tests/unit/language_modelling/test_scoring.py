import math

import pytest
import torch

from transformer.errors import TextError
from transformer.language_modelling.scoring import score_text

TEXT = "The cat's Größe 🙂"


def test_text_score_matches_the_hugging_face_loss(huggingface, model, tokenizer):
    score = score_text(model, tokenizer, TEXT)
    ids = torch.tensor([[0, *(token.id for token in score.tokens)]])
    with torch.inference_mode():
        loss = huggingface(ids, labels=ids).loss.item()
    assert score.log_prob / len(score.tokens) == pytest.approx(-loss, abs=1e-5)
    assert score.perplexity == pytest.approx(math.exp(loss), rel=1e-4)


def test_text_probability_matches_its_token_scores_and_bits_per_byte(model, tokenizer):
    score = score_text(model, tokenizer, TEXT)
    assert len(score.log_probs) == len(score.tokens) and score.words == 4
    assert score.probability == pytest.approx(math.prod(map(math.exp, score.log_probs)))
    assert 2 ** -(score.bits_per_byte * len(TEXT.encode())) == pytest.approx(score.probability, rel=1e-9)


def test_probabilities_of_all_next_tokens_sum_to_one(model, tokenizer):
    beginning = score_text(model, tokenizer, "cat")
    read = torch.tensor([[0, *(token.id for token in beginning.tokens)]])
    with torch.inference_mode():
        assert model(None, read)[0, -1].softmax(dim=-1).sum().item() == pytest.approx(1, abs=1e-6)


def test_scoring_an_empty_text_raises_an_error(model, tokenizer):
    with pytest.raises(TextError, match="type at least one character"):
        score_text(model, tokenizer, "")


def test_scoring_a_text_longer_than_the_positions_raises_an_error(model, tokenizer):
    assert len(score_text(model, tokenizer, "1 " * 32).tokens) == 64
    with pytest.raises(TextError, match="64 learned positions"):
        score_text(model, tokenizer, "1 " * 33)


def test_lone_surrogate_is_scored_as_the_replacement_character(model, tokenizer):
    assert score_text(model, tokenizer, "a\ud83d").log_prob == score_text(model, tokenizer, "a\ufffd").log_prob
