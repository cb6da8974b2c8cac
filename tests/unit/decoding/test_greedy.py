import torch

from transformer.decoding.constraints import UNCONSTRAINED
from transformer.decoding.greedy import greedy, greedy_batch, most_likely
from transformer.decoding.step import token_rank, top_candidates
from transformer.text.tokenizer import END, PAD, START


def test_greedy_decoding_feeds_back_the_most_likely_token(decode):
    steps = decode(greedy, [[5, 9, 7, END]])
    assert int(steps[0].read) == START
    for step, following in zip(steps, steps[1:], strict=False):
        logits = UNCONSTRAINED.applied(30, [12]).exclude_(step.distribution.log_probs.clone(), 0)
        assert torch.equal(step.predicted, logits.argmax(-1))
        assert torch.equal(following.read, step.predicted)
        assert torch.equal(step.log_prob, step.distribution.log_probs[:, int(step.predicted)])


def test_greedy_decoding_takes_the_first_of_equally_likely_tokens():
    assert most_likely(torch.tensor([[0.0, 2.0, 2.0], [-torch.inf, -torch.inf, -3.0]])).tolist() == [1, 2]


def test_greedy_decoding_of_a_batch_matches_decoding_of_single_sentences(decode, sources):
    together = torch.stack([step.predicted for step in decode(greedy, sources)], dim=1)
    for row, predicted in zip(sources, together.tolist(), strict=True):
        alone = [int(step.predicted) for step in decode(greedy, [row])]
        assert predicted[: len(alone)] == alone
        assert set(predicted[len(alone) :]) <= {PAD}, "nothing follows the end symbol"


def test_decoding_a_shrinking_batch_matches_decoding_of_single_sentences(model, sources):
    """Every sentence has its own length limit, and a finished sentence leaves the batch."""
    limits = [12, 9, 12, 2, 7, 1]
    source = torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, sources)), batch_first=True, padding_value=PAD)
    with torch.inference_mode():
        cache = model.start_cache(model.encode(source, source != PAD), source != PAD)
        found = list(greedy_batch(model, cache, limits))
    assert sorted(number for number, _ in found) == list(range(len(sources)))
    assert [len(taken) for _, taken in found] == sorted(len(taken) for _, taken in found)
    assert {len(taken) for _, taken in found} > {1, 2}, "they end at different steps"
    for number, taken in found:
        with torch.inference_mode():
            alone = model.start_cache(model.encode(torch.tensor([sources[number]]), None), None)
            steps = list(greedy(model, alone, limit=limits[number]))
        assert list(taken) == [int(step.predicted) for step in steps]


def test_end_symbol_stops_greedy_decoding(decode, biased):
    steps = decode(greedy, [[5, END]], model=biased(END, 1e9))
    assert len(steps) == 1 and int(steps[0].predicted) == END


def test_padding_is_never_predicted(decode, biased):
    """A predicted padding token would stop the search without an end symbol."""
    for step in decode(greedy, [[5, 9, END]], model=biased(PAD, 1e3)):
        log_probs = step.distribution.log_probs
        assert int(top_candidates(log_probs, 1).ids) == PAD != int(step.predicted)
        assert int(token_rank(log_probs, step.log_prob)) == 2


def test_score_is_the_sum_of_log_probabilities(decode, sources):
    steps = decode(greedy, sources)
    log_prob, predicted = (torch.stack([getattr(step, name) for step in steps]) for name in ("log_prob", "predicted"))
    assert (log_prob[predicted == PAD] == 0).all() and (log_prob[predicted != PAD] < 0).all()
    torch.testing.assert_close(
        torch.stack([step.score for step in steps]), log_prob.double().cumsum(0), atol=1e-12, rtol=0
    )
