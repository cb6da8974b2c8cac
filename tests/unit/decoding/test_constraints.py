from __future__ import annotations

import pytest
import torch

from transformer.decoding import Constraints
from transformer.tokenizer import PAD, START

# Logits 2, 1, 0 for the pieces 4, 5 and 6.
LOG_PROBS = torch.tensor([[*[float("-inf")] * 4, 2.0, 1.0, 0.0]]).log_softmax(-1)


def left(constraints, step=0):
    return constraints.apply(LOG_PROBS, step).softmax(-1)[0, 4:]


def test_masking_the_last_scales_up_the_rest():
    expected = torch.tensor([0.731059, 0.268941, 0.0])
    for constraints in (Constraints(banned={0: {6}}), Constraints(never={6})):
        torch.testing.assert_close(left(constraints), expected, atol=1e-6, rtol=0)


def test_a_ban_counts_at_its_step_alone():
    constraints = Constraints(banned={1: {6}})
    assert float(left(constraints, 0)[2]) > 0 == float(left(constraints, 1)[2])


def test_a_forced_piece_is_taken_even_if_it_is_banned():
    constraints = Constraints(forced={0: 6}, banned={0: {6}}, never={6})
    constraints.check(7, limit=3)
    assert left(constraints).tolist() == [0, 0, 1]


def test_the_distribution_stays_as_it_is():
    before = LOG_PROBS.clone()
    Constraints(banned={0: {6}}).apply(LOG_PROBS, 0)
    assert torch.equal(LOG_PROBS, before)


def test_what_no_training_example_predicts_counts_as_banned():
    with pytest.raises(ValueError, match="banned at step 0"):
        Constraints(banned={0: set(range(7)) - {PAD, START}}).check(7, limit=3)
    Constraints(forced={0: START}, banned={0: set(range(7))}).check(7, limit=3)
