from functools import partial

import pytest
import torch

from transformer.decoding.beam import beam_search
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.decoding.sampling import sample
from transformer.decoding.step import Distribution, Step, StepAttention, entropy, token_rank, top_candidates
from transformer.model.recorder import Recorder
from transformer.text.tokenizer import END, PAD, START
from transformer.values.translation import HypothesisState

SEARCHES = {
    "greedy": greedy,
    "sample": partial(sample, seed=3, temperature=1.3, top_k=20, top_p=0.95),
    "beam": partial(beam_search, beam_size=4),
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


def single(search, steps):
    """Return the steps of one translation. For beam search, these are the steps of its best hypothesis, with one row
    each.
    """
    if search is not SEARCHES["beam"]:
        return steps
    best = hypotheses(steps, 1)[0][0]
    alone, expansion = [], best.expansion
    for step in reversed(steps[: best.step + 1]):
        row, taken = int(step.parent[expansion]), slice(expansion, expansion + 1)
        attention = step.distribution.attention
        alone.append(
            Step(
                read=step.read[row : row + 1],
                distribution=Distribution(
                    step.distribution.log_probs[row : row + 1],
                    attention and StepAttention(attention.decoder[row : row + 1], attention.cross[row : row + 1]),
                ),
                predicted=step.predicted[taken],
                log_prob=step.log_prob[taken],
                score=step.score[taken],
            )
        )
        if len(alone) <= best.step:
            # Row n of a step continues the n-th surviving expansion of the previous step.
            before = steps[best.step - len(alone)]
            expansion = int((before.fate == HypothesisState.ALIVE).nonzero()[row])
    return alone[::-1]


@every_search
def test_decoding_step_by_step_with_a_cache_matches_one_full_pass(search, model, decode, sources):
    for row in sources:
        steps = single(search, decode(search, [row], capture=True))
        source, read = torch.tensor([row]), torch.stack([step.read for step in steps], dim=1)
        record = Recorder(details=False)
        with torch.inference_mode():
            real = torch.ones_like(source, dtype=torch.bool)
            hidden = model.decode(read, model.encode(source, real), real, record=record)
            log_probs = model.generator(hidden).log_softmax(-1)
        for t, step in enumerate(steps):
            torch.testing.assert_close(step.distribution.log_probs, log_probs[:, t], atol=1e-5, rtol=0)
            torch.testing.assert_close(step.log_prob, log_probs[:, t, int(step.predicted)], atol=1e-5, rtol=0)
            attention = step.distribution.attention
            assert attention.decoder.shape == (1, 2, 4, t + 1) and attention.cross.shape == (1, 2, 4, len(row))
            for layer in range(2):
                expected = record.tensors["decoder.weights"][layer][:, :, t, : t + 1]
                torch.testing.assert_close(attention.decoder[:, layer], expected, atol=1e-5, rtol=0)
                expected = record.tensors["cross.weights"][layer][:, :, t]
                torch.testing.assert_close(attention.cross[:, layer], expected, atol=1e-5, rtol=0)


@every_search
def test_each_step_reads_the_token_that_the_previous_step_predicted(search, decode, sources):
    for row in sources:
        steps = single(search, decode(search, [row]))
        tokens = [int(step.predicted) for step in steps]
        assert [int(step.read) for step in steps] == [START, *tokens[:-1]]
        assert END not in tokens[:-1]


@every_search
def test_length_limit_ends_the_search(search, decode, biased):
    for limit in (1, 7):
        steps = decode(search, [[5, END], [9, 8, END]], model=biased(END, -1e9), limit=limit)
        assert len(steps) == limit
    if search is SEARCHES["beam"]:
        assert all(len(of) == 4 and not any(each.ended for each in of) for of in hypotheses(steps, 2))


@every_search
def test_attention_is_not_recorded_by_default(search, decode):
    assert all(step.distribution.attention is None for step in decode(search, [[5, END]]))


@every_search
def test_forcing_the_tokens_of_a_search_reproduces_its_result(search, decode, sources):
    for row in sources:
        own = single(search, decode(search, [row]))
        tokens = [int(step.predicted) for step in own]
        # After a partial prefix, beam search has a full beam again and may find a better result, so force all tokens.
        for length in (len(tokens),) if search is SEARCHES["beam"] else range(len(tokens) + 1):
            forced = single(search, decode(search, [row], constraints=Constraints(prefix=tuple(tokens[:length]))))
            assert [int(step.predicted) for step in forced] == tokens
            for before, after in zip(own, forced, strict=True):
                torch.testing.assert_close(
                    before.distribution.log_probs, after.distribution.log_probs, atol=1e-5, rtol=0
                )
                torch.testing.assert_close(before.score, after.score, atol=1e-5, rtol=0)


@every_search
def test_forced_token_has_the_log_probability_from_the_model(search, decode):
    steps = single(search, decode(search, [[5, 9, 7, END]], constraints=Constraints(prefix=(8, 9, 19))))
    assert int(steps[2].predicted) == 19
    torch.testing.assert_close(steps[2].log_prob, steps[2].distribution.log_probs[:, 19])
    assert steps[2].log_prob < -0.1


@every_search
def test_no_sentence_ends_within_the_forced_prefix(search, decode, biased):
    eager, constraints = biased(END, 30.0), Constraints(prefix=(8, 9, 8, 9, 19))
    steps = single(search, decode(search, [[5, 9, END]], model=eager, constraints=constraints))
    assert [int(step.predicted) for step in steps][4:] == [19, END]


@every_search
def test_forcing_the_end_symbol_ends_the_search(search, decode):
    steps = single(search, decode(search, [[5, 9, 7, END]], constraints=Constraints(prefix=(8, 9, END, 19))))
    assert len(steps) == 3 and int(steps[2].predicted) == END


@every_search
def test_suppressed_token_is_never_chosen_after_the_forced_prefix(search, decode, sources):
    for row in sources:
        tokens = [int(step.predicted) for step in single(search, decode(search, [row]))]
        for at, token in enumerate(tokens):
            constraints = Constraints(prefix=tuple(tokens[:at]), suppressed={token})
            steps = decode(search, [row], constraints=constraints)
            assert all(token not in step.predicted for step in steps[at:])
            assert [int(step.predicted) for step in steps[:at]] == tokens[:at]
        for step in decode(search, [row], constraints=Constraints(suppressed=set(tokens))):
            assert not set(step.predicted.tolist()) & set(tokens)


@every_search
def test_padding_and_start_symbols_are_never_chosen(search, decode, biased, sources):
    for token in (PAD, START):
        for step in decode(search, sources[:1], model=biased(token, 5.0)):
            assert token not in step.predicted


@every_search
def test_impossible_constraint_raises_an_error(search, decode):
    for constraints, message in (
        (Constraints(prefix=(30,)), "token 30 is not in the vocabulary"),
        (Constraints(suppressed={-1}), "token -1 is not in the vocabulary"),
        (Constraints(suppressed=set(range(30))), "every token"),
        (Constraints(prefix=(5,), suppressed=set(range(30))), "every token"),
    ):
        with pytest.raises(ValueError, match=message):
            decode(search, [[5, END]], constraints=constraints)


def test_entropy_of_a_step_is_measured_in_nats():
    log_probs = torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]]).log()
    torch.testing.assert_close(entropy(log_probs), torch.tensor([0.801819, 0.0]), atol=1e-6, rtol=0)


def test_number_of_candidates_is_limited_to_the_vocabulary_size():
    candidates = top_candidates(torch.tensor([[0.1, 0.7, 0.2]]).log(), 5)
    assert candidates.ids.tolist() == [[1, 2, 0]]
    torch.testing.assert_close(candidates.log_probs.exp(), torch.tensor([[0.7, 0.2, 0.1]]))


def test_rank_of_a_token_counts_the_more_likely_tokens():
    log_probs = torch.tensor([[0.1, 0.6, 0.1, 0.2]]).log().expand(4, 4)
    assert token_rank(log_probs, log_probs.diagonal()).tolist() == [3, 1, 3, 2]
