import numpy as np
import pytest

from transformer.analysis.heads.pattern import Entry, offset_share, pattern, row_entropy
from transformer.text.tokenizer import END
from transformer.values.tokens import Token


def groups(count, *, end=True):
    tokens = [(Token(10 + i, f"▁w{i}", None),) for i in range(count - end)]
    return tuple(tokens + [(Token(END, "</s>", None, "end"),)] * end)


def test_attention_entropy_is_measured_in_nats():
    np.testing.assert_allclose(row_entropy(np.array([[0.7, 0.2, 0.1], [1, 0, 0]])), [0.801819, 0], atol=1e-6)


@pytest.mark.parametrize(("offset", "field"), [(-1, "previous"), (0, "same"), (1, "following")])
def test_head_that_always_attends_at_one_offset_has_a_share_of_one_at_that_offset(offset, field):
    weights = np.eye(5, k=offset)
    weights[weights.sum(1) == 0, 0] = 1
    found = pattern(weights, np.ones((5, 5), bool), groups(5), groups(5), same_text=True)
    assert getattr(found, field) == 1.0
    assert sum((found.previous == 1, found.same == 1, found.following == 1)) == 1
    assert found.entropy == 0 and found.limit == pytest.approx(np.log(5))


def test_offset_share_excludes_masked_positions():
    mask = np.tri(3, dtype=bool)
    assert offset_share(np.eye(3), mask, 1) == 0.0
    assert offset_share(np.eye(3, k=-1), mask, -1) == 1.0


def test_pattern_includes_the_mean_attention_to_the_end_symbol():
    weights = np.zeros((3, 3))
    weights[:, 2] = [1.0, 0.5, 0.0]
    weights[:, 0] = 1 - weights[:, 2]
    found = pattern(weights, np.ones((3, 3), bool), groups(3), groups(3), same_text=True)
    assert found.special == pytest.approx(0.5)
    assert (found.column, found.column_share) == (0, pytest.approx(0.5))


def test_strongest_link_never_leads_to_a_special_token_or_the_token_itself():
    weights = np.array([[0.9, 0.1, 0.0], [0.3, 0.1, 0.6], [0.0, 1.0, 0.0]])
    found = pattern(weights, np.ones((3, 3), bool), groups(3), groups(3), same_text=True)
    assert found.strongest == Entry(1, 0, 0.3)
    rows = ((Token(1, "<s>", None, "start"),), *groups(2, end=False))
    found = pattern(weights, np.ones((3, 3), bool), rows, groups(3), same_text=False)
    assert found.strongest == Entry(2, 1, 1.0)
    found = pattern(weights[:2], np.ones((2, 3), bool), rows[:2], groups(3), same_text=False)
    assert found.strongest == Entry(0, 0, 0.9), "the step that reads the start symbol writes the first word"


def test_sentence_with_only_an_end_symbol_has_no_strongest_link():
    found = pattern(np.ones((1, 1)), np.ones((1, 1), bool), groups(1), groups(1), same_text=True)
    assert found.strongest is None and found.column is None
