import numpy as np
import pytest
import torch

from transformer.config import decoder_only
from transformer.language_modelling.head_scores import earlier_occurrences, head_scores, scores_in_text, scores_of
from transformer.model.transformer import build


def looking(back, length=5):
    """Return the weights of a head that attends to the token `back` positions earlier; the first `back` rows attend to
    themselves.
    """
    size = 2 * length + 1
    weights = np.zeros((1, 1, 1, size, size))
    at = np.arange(size)
    weights[..., at, np.where(at < back, at, at - back)] = 1
    return weights


@pytest.mark.parametrize(("name", "back"), [("previous", 1), ("induction", 4), ("duplicate", 5)])
def test_head_with_a_single_behaviour_scores_one_for_that_behaviour_and_zero_otherwise(name, back):
    scores = scores_of(looking(back), 5)
    found = {each: getattr(scores, each)[0, 0] for each in ("previous", "induction", "duplicate")}
    assert found.pop(name) == 1
    assert set(found.values()) == {0}


def small(**values):
    torch.manual_seed(0)
    return build(
        decoder_only(
            **{"vocabulary": 60, "d_model": 64, "heads": 1, "layers": 1, "d_ff": 8, "max_positions": 32} | values
        )
    ).eval()


def test_uniform_attention_gets_the_scores_expected_by_chance():
    model = small(heads=4, layers=2)
    with torch.no_grad():
        for layer in model.decoder_layers:
            layer.self_attention.in_projection.weight.zero_()
    scores = head_scores(model, patterns=2, length=10)
    assert scores.previous.shape == (2, 4)
    np.testing.assert_allclose(scores.previous, np.mean([1 / (query + 1) for query in range(1, 21)]), atol=1e-6)
    np.testing.assert_allclose(scores.induction, np.mean([1 / (query + 1) for query in range(11, 21)]), atol=1e-6)


def test_head_that_attends_one_position_back_is_a_previous_token_head():
    """Position p has unit vector p as its embedding and key. Its query is a multiple of the key at position p - 1."""
    model = small(positions="learned", norm="post")
    attention = model.decoder_layers[0].self_attention
    with torch.no_grad():
        model.target_embedding.weight.zero_()
        model.target_positions.table.copy_(torch.eye(32, 64))
        attention.in_projection.weight.zero_()
        attention.in_projection.weight[:64] = 400 * torch.eye(64).roll(-1, dims=0)
        attention.in_projection.weight[64:128] = torch.eye(64)
    scores = head_scores(model, patterns=3, length=12)
    assert scores.previous[0, 0] == pytest.approx(1, abs=1e-6)
    assert scores.induction[0, 0] == pytest.approx(0, abs=1e-6)


def test_same_seed_gives_the_same_head_scores():
    model = small()
    one, other = (head_scores(model, length=8, seed=seed) for seed in (1, 1))
    assert (one.induction == other.induction).all()
    assert (head_scores(model, length=8, seed=2).induction != one.induction).any()


def test_vocabulary_too_small_for_a_repeated_pattern_raises_an_error():
    with pytest.raises(ValueError, match="25 different tokens"):
        head_scores(small(vocabulary=20))


def test_heads_with_compressed_keys_have_no_copying_scores():
    with pytest.raises(ValueError, match="compresses several tokens into one key"):
        head_scores(small(attention="compressed"))


def test_copying_scores_of_a_text_are_averaged_over_its_repeated_tokens():
    tokens = [0, 7, 8, 9, 7, 8]
    assert earlier_occurrences(tokens) == ((), (), (), (), (1,), (2,))
    weights = np.zeros((1, 1, 6, 6))
    weights[..., range(6), [0, 0, 1, 2, 2, 2]] = 1
    scores = scores_in_text(weights, tokens)
    assert scores.previous[0, 0] == pytest.approx(3 / 5)
    assert scores.induction[0, 0] == scores.duplicate[0, 0] == 0.5


def test_copying_score_counts_every_earlier_occurrence():
    tokens = [0, 7, 8, 7, 9, 7]
    weights = np.zeros((1, 1, 6, 6))
    weights[0, 0, 5] = [0, 0.1, 0.2, 0.3, 0.4, 0]
    scores = scores_in_text(weights, tokens)
    # The token at position 3 occurs once before, the token at position 5 twice.
    assert scores.duplicate[0, 0] == pytest.approx((0 + 0.1 + 0.3) / 2)
    assert scores.induction[0, 0] == pytest.approx((0 + 0.2 + 0.4) / 2)


def test_text_without_repetition_has_no_copying_score():
    scores = scores_in_text(np.full((2, 3, 4, 4), 0.25), [0, 1, 2, 3])
    assert np.isnan(scores.induction).all() and np.isnan(scores.duplicate).all() and (scores.previous == 0.25).all()
