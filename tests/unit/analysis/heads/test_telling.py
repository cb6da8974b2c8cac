"""Where to look first."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.analysis.heads.metrics import head_metrics, metrics_of
from transformer.analysis.heads.names import head_names
from transformer.analysis.heads.telling import TELLING, telling_head
from transformer.values.trace import KINDS

WORDS = [f"w{number}" for number in range(9)]
SCORES = [0.0] * 10 + [-5.0] * 10
SIZE = 10


def telling(made_up_trace, *maps):
    """The telling head of an encoder layer with these heads."""
    trace = made_up_trace(WORDS, WORDS, encoder=np.array([maps]))
    return telling_head(head_metrics(trace, "encoder", SCORES))


def mixed(weights, share):
    """A map of which a share is as given and the rest even."""
    return share * weights + (1 - share) / SIZE


PREVIOUS, SAME, NEXT = (np.eye(SIZE)[np.clip(np.arange(SIZE) + offset, 0, SIZE - 1)] for offset in (-1, 0, 1))
EVEN = np.full((SIZE, SIZE), 1 / SIZE)
END, FIRST = (np.eye(SIZE)[[column] * SIZE] for column in (-1, 0))
# The same few words for all, which has no name.
THIRD = np.eye(SIZE)[[3] * SIZE]


def test_a_name_counts_more_than_confidence(made_up_trace):
    found = telling(made_up_trace, THIRD, mixed(PREVIOUS, 0.7))
    assert (found.layer, found.head, found.name) == (0, 1, "previous piece")
    assert found.confidence < 0.8


def test_the_plainer_name_comes_first_and_then_the_clearest_head(made_up_trace):
    found = telling(made_up_trace, SAME, NEXT, mixed(PREVIOUS, 0.7), mixed(PREVIOUS, 0.8))
    assert (found.head, found.name) == (3, "previous piece")
    # Certain of other words, too: with that name it would surprise whoever looks at it.
    straying = np.where(np.arange(SIZE)[:, None] < 4, THIRD, PREVIOUS)
    found = telling(made_up_trace, straying, mixed(PREVIOUS, 0.8))
    assert (found.head, found.name) == (1, "previous piece") and found.confidence < 0.9


def test_without_names_it_is_the_most_certain_head_that_does_not_rest(made_up_trace):
    unnamed = 0.5 * THIRD + 0.5 * EVEN
    assert telling(made_up_trace, EVEN, 0.3 * THIRD + 0.7 * EVEN, unnamed).head == 2
    resting = 0.55 * END + 0.45 * THIRD
    assert telling(made_up_trace, resting, EVEN, 0.2 * THIRD + 0.8 * EVEN).head == 2
    found = telling(made_up_trace, 0.7 * FIRST + 0.3 * THIRD, EVEN)
    assert (found.head, found.name) == (1, "")


def test_where_all_heads_rest_the_most_certain_one_is_shown(made_up_trace):
    found = telling(made_up_trace, END, 0.8 * END + 0.2 * THIRD)
    assert (found.head, found.name) == (1, "")


def test_a_sentence_without_words_is_shown_at_the_first_head(made_up_trace):
    found = telling_head(head_metrics(made_up_trace([], []), "decoder", SCORES))
    assert (found.layer, found.head, found.name) == (0, 0, "") and np.isnan(found.confidence)


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_model_has_something_to_show(shipped, kind):
    for text in ("I have a dream.", "The animal didn't cross the street because it was too tired."):
        metrics = head_metrics(shipped.trace(text), kind, shipped.tokenizer.scores)
        found = telling_head(metrics)
        names = head_names(metrics)
        named = {name for layer in names for head in layer for name in head} & set(TELLING)
        assert found.name in (names[found.layer][found.head] if named else [""])
        assert found.confidence == metrics.values["confidence"][found.layer, found.head] > 0.3


def test_every_kind_has_what_the_rule_asks_for():
    for kind in KINDS:
        assert {"confidence", "first"} <= {metric.name for metric in metrics_of(kind)}
