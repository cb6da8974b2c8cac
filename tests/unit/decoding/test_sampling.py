import pytest
import torch

from transformer.decoding.constraints import UNCONSTRAINED
from transformer.decoding.greedy import greedy
from transformer.decoding.sampling import drawn, sample, tempered, truncated_to_count, truncated_to_mass
from transformer.decoding.step import token_rank
from transformer.text.tokenizer import END, PAD
from transformer.values.decoding_settings import MAX_TEMPERATURE, MIN_TEMPERATURE

LOGITS = torch.tensor([[2.0, 1.0, 0.0]])
NEVER = float("-inf")


def tokens(steps):
    return torch.stack([step.predicted for step in steps], dim=1)


def test_sampling_with_top_k_of_one_matches_greedy_decoding(decode, sources):
    expected = tokens(decode(greedy, sources))
    for temperature in (MIN_TEMPERATURE, 1.0, MAX_TEMPERATURE):
        assert torch.equal(tokens(decode(sample, sources, seed=5, top_k=1, temperature=temperature)), expected)


def test_sampling_with_a_tiny_top_p_matches_greedy_decoding(decode, sources):
    assert torch.equal(tokens(decode(sample, sources, seed=5, top_p=1e-6)), tokens(decode(greedy, sources)))


def test_sampling_at_the_lowest_temperature_matches_greedy_decoding(decode):
    """Compares steps whose best token leads by more than 0.2 nats.

    At temperature 0.01, the odds of the second-best token are then at most 2e-9.
    """
    rows = [[a, b, END] for a in range(4, 30, 5) for b in range(4, 30)]
    steps = decode(greedy, rows)
    expected = tokens(steps)
    allowed = UNCONSTRAINED.applied(30, [12])
    logits = [allowed.exclude_(step.distribution.log_probs.clone(), 0) for step in steps]
    top = torch.stack([each.topk(2).values for each in logits], dim=1)
    clear = (top[..., 0] - top[..., 1] > 0.2).cumprod(dim=1).bool() & (expected != PAD)
    assert clear.sum() > 100
    sampled = tokens(decode(sample, rows, seed=0, temperature=0.01, limit=len(steps)))
    width = sampled.shape[1]
    assert torch.equal(sampled[clear[:, :width]], expected[clear]) and not clear[:, width:].any()


def test_same_seed_repeats_a_sample_and_another_seed_changes_it(decode, sources):
    first = tokens(decode(sample, sources, seed=1))
    assert torch.equal(first, tokens(decode(sample, sources, seed=1)))
    assert any(
        first.shape != (other := tokens(decode(sample, sources, seed=seed))).shape or not torch.equal(first, other)
        for seed in (100, 200)
    )


def test_sample_does_not_depend_on_the_rest_of_the_batch(decode, sources):
    together = tokens(decode(sample, sources, seed=40)).tolist()
    for row, (source, drawn_together) in enumerate(zip(sources, together, strict=True)):
        alone = tokens(decode(sample, [source], seed=40 + row))[0].tolist()
        assert drawn_together[: len(alone)] == alone and not any(drawn_together[len(alone) :])


def test_sampling_does_not_use_the_global_random_generator(decode):
    state = torch.get_rng_state()
    decode(sample, [[5, END]], seed=1)
    assert torch.equal(torch.get_rng_state(), state)


def test_temperature_and_truncation_do_not_change_reported_log_probabilities(decode):
    drawn_ranks = set()
    for seed in range(10):
        for step in decode(sample, [[5, 9, END]], seed=seed, temperature=0.5, top_k=3):
            log_probs = step.distribution.log_probs
            torch.testing.assert_close(log_probs.exp().sum(), torch.tensor(1.0))
            assert torch.equal(step.log_prob, log_probs[0, step.predicted])
            assert step.predicted in UNCONSTRAINED.applied(30, [12]).exclude_(log_probs.clone(), 0).topk(3).indices
            drawn_ranks.add(int(token_rank(log_probs, step.log_prob)))
    assert len(drawn_ranks) > 1 and max(drawn_ranks) <= 5


@pytest.mark.parametrize(
    "temperature, probs", [(1.0, [0.665241, 0.244728, 0.090031]), (0.5, [0.866813, 0.117310, 0.015876])]
)
def test_probabilities_at_a_temperature_match_known_values(temperature, probs):
    torch.testing.assert_close(tempered(LOGITS, temperature).softmax(-1), torch.tensor([probs]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("temperature", [1e-36, MIN_TEMPERATURE, MAX_TEMPERATURE, 1e36])
def test_softmax_does_not_overflow_at_extreme_temperatures(temperature):
    logits = torch.tensor([[-1e4, -900.0, NEVER, -9e3], [0.0, -60.0, -1e-7, NEVER]])
    probs = tempered(logits, temperature).softmax(-1)
    torch.testing.assert_close(probs.sum(-1), torch.ones(2))
    assert (probs[logits == NEVER] == 0).all()


@pytest.mark.parametrize("temperature", [MIN_TEMPERATURE, MAX_TEMPERATURE])
def test_extreme_temperatures_give_finite_scores_and_valid_tokens(decode, sources, temperature):
    for step in decode(sample, sources, seed=0, temperature=temperature):
        assert step.score.isfinite().all() and ((step.predicted >= 0) & (step.predicted < 30)).all()


def test_top_k_keeps_the_k_most_likely_tokens():
    assert truncated_to_count(LOGITS, 2).tolist() == [[2.0, 1.0, NEVER]]
    assert torch.equal(truncated_to_count(LOGITS, 9), LOGITS)
    ties = torch.tensor([[1.0, 2.0, 2.0, 2.0]])
    assert truncated_to_count(ties, 1).isfinite().tolist() == [[False, True, False, False]]


@pytest.mark.parametrize("mass, count", [(1e-9, 1), (0.66, 1), (0.67, 2), (0.90, 2), (0.92, 3)])
def test_top_p_keeps_the_token_that_reaches_the_probability_mass(mass, count):
    for order in ([0, 1, 2], [2, 0, 1]):
        left = truncated_to_mass(LOGITS[:, order], mass).isfinite()[0]
        assert left.tolist() == [place < count for place in order]


def test_top_p_never_restores_excluded_tokens():
    left = truncated_to_mass(torch.tensor([[NEVER, 0.0, NEVER]]), 0.999)
    assert left.tolist() == [[NEVER, 0.0, NEVER]]


def test_sampled_tokens_follow_the_cumulative_distribution():
    logits = torch.tensor([0.0, 0.5, 0.0, 0.3, 0.2, 0.0]).log().expand(7, 6)
    uniform = torch.tensor([0.0, 0.49, 0.51, 0.79, 0.81, 0.9, 1 - 2**-24])
    assert drawn(logits, uniform)[0].tolist() == [1, 1, 3, 3, 4, 4, 4]


def test_position_of_a_draw_within_the_interval_of_its_token_is_uniform():
    """Uniform numbers that select the same token are spread evenly over its probability interval."""
    logits = torch.tensor([[0.5, 0.2, 0.3]]).log().expand(1000, -1)
    tokens, place = drawn(logits, torch.arange(1000) / 1000 + 0.0005)
    for token, count in enumerate((500, 200, 300)):
        torch.testing.assert_close(
            place[tokens == token], (torch.arange(count).double() + 0.5) / count, atol=1e-3, rtol=0
        )
