"""The probability of a text is the product that the definition says."""

from __future__ import annotations

import math

import pytest
import torch

from transformer.errors import TextError
from transformer.language_modelling.scoring import score_text

TEXT = "The cat's Größe 🙂"


def test_equals_the_loss_of_hugging_face(huggingface, model, tokenizer):
    score = score_text(model, tokenizer, TEXT)
    ids = torch.tensor([[0, *(piece.id for piece in score.pieces)]])
    with torch.inference_mode():
        loss = huggingface(ids, labels=ids).loss.item()
    assert score.log_prob / len(score.pieces) == pytest.approx(-loss, abs=1e-5)
    assert score.perplexity == pytest.approx(math.exp(loss), rel=1e-4)


def test_measures_fit_each_other(model, tokenizer):
    score = score_text(model, tokenizer, TEXT)
    assert len(score.log_probs) == len(score.pieces) and score.words == 4
    assert score.probability == pytest.approx(math.prod(map(math.exp, score.log_probs)))
    assert 2 ** -(score.bits_per_byte * len(TEXT.encode())) == pytest.approx(score.probability, rel=1e-9)


def test_the_probabilities_of_all_next_pieces_sum_to_one(model, tokenizer):
    """What is scored is a distribution: the pieces that are one byte or more, and the end."""
    beginning = score_text(model, tokenizer, "cat")
    read = torch.tensor([[0, *(piece.id for piece in beginning.pieces)]])
    with torch.inference_mode():
        assert model(None, read)[0, -1].softmax(dim=-1).sum().item() == pytest.approx(1, abs=1e-6)


def test_a_text_has_at_least_a_character(model, tokenizer):
    with pytest.raises(TextError, match="type at least one character"):
        score_text(model, tokenizer, "")


def test_a_text_longer_than_the_positions_is_refused(model, tokenizer):
    assert len(score_text(model, tokenizer, "1 " * 32).pieces) == 64
    with pytest.raises(TextError, match="learned 64 positions"):
        score_text(model, tokenizer, "1 " * 33)


def test_a_surrogate_is_scored_as_what_replaces_it(model, tokenizer):
    assert score_text(model, tokenizer, "a\ud83d").log_prob == score_text(model, tokenizer, "a\ufffd").log_prob
