import pytest
import torch

from transformer.decoding.constraints import Constraints
from transformer.text.tokenizer import PAD, START

# The logits of tokens 4, 5 and 6 are 2, 1 and 0. The other tokens are impossible.
LOG_PROBS = torch.tensor([[*[float("-inf")] * 4, 2.0, 1.0, 0.0]]).log_softmax(-1)


def left(constraints, step=0):
    return logits(constraints, step).softmax(-1)[0, 4:]


def logits(constraints, step=0):
    return constraints.applied(7, [9]).exclude_(LOG_PROBS.clone(), step)


def test_suppressing_a_token_scales_up_the_probabilities_of_the_other_tokens():
    expected = torch.tensor([0.731059, 0.268941, 0.0])
    for step in (0, 7):
        torch.testing.assert_close(left(Constraints(suppressed={6}), step), expected, atol=1e-6, rtol=0)


def test_suppression_begins_after_the_forced_prefix():
    constraints = Constraints(prefix=(4, 6), suppressed={6})
    assert left(constraints, 1).tolist() == [0, 0, 1] and float(left(constraints, 2)[2]) == 0


def test_forced_prefix_token_is_used_even_if_suppressed():
    constraints = Constraints(prefix=(6,), suppressed={6})
    constraints.check(7, limit=3)
    assert left(constraints).tolist() == [0, 0, 1]


def test_forced_token_keeps_its_log_probability():
    only = logits(Constraints(prefix=(6,)))
    assert only[0, 6] == LOG_PROBS[0, 6] and torch.isinf(only[0, :6]).all()


def test_padding_and_start_symbols_count_as_suppressed():
    with pytest.raises(ValueError, match="every token of the vocabulary is suppressed"):
        Constraints(suppressed=set(range(7)) - {PAD, START}).check(7, limit=3)
    Constraints(prefix=(START, 4, 5), suppressed=set(range(7))).check(7, limit=3)
