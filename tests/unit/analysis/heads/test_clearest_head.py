import numpy as np
import pytest

from transformer.analysis.heads.clearest_head import ALIGNMENT, INFORMATIVE_NAMES, clearest_head
from transformer.analysis.heads.metrics import head_metrics, metrics_of
from transformer.analysis.heads.names import head_names
from transformer.values.trace import KINDS

WORDS = [f"w{number}" for number in range(9)]
SCORES = [0.0] * 10 + [-5.0] * 10
SIZE = 10


def telling(made_up_trace, *maps):
    trace = made_up_trace(WORDS, WORDS, encoder=np.array([maps]))
    return clearest_head(trace, head_metrics(trace, "encoder", SCORES))


def mixed(weights, share):
    """Return `share` times `weights` plus uniform attention, so that each row sums to 1."""
    return share * weights + (1 - share) / SIZE


PREVIOUS, SAME, NEXT = (np.eye(SIZE)[np.clip(np.arange(SIZE) + offset, 0, SIZE - 1)] for offset in (-1, 0, 1))
EVEN = np.full((SIZE, SIZE), 1 / SIZE)
END, FIRST = (np.eye(SIZE)[[column] * SIZE] for column in (-1, 0))
# All queries attend to the fourth word, a pattern without a name.
THIRD = np.eye(SIZE)[[3] * SIZE]


def test_named_head_is_preferred_to_a_more_confident_unnamed_head(made_up_trace):
    found = telling(made_up_trace, THIRD, mixed(PREVIOUS, 0.7))
    assert (found.layer, found.head, found.name) == (0, 1, "previous token")
    assert found.confidence < 0.8


def test_default_head_is_the_best_match_for_the_first_listed_head_name(made_up_trace):
    found = telling(made_up_trace, SAME, NEXT, mixed(PREVIOUS, 0.7), mixed(PREVIOUS, 0.8))
    assert (found.head, found.name) == (3, "previous token")
    # Only some rows of the more confident head match its name, so showing it first would surprise a user.
    straying = np.where(np.arange(SIZE)[:, None] < 4, THIRD, PREVIOUS)
    found = telling(made_up_trace, straying, mixed(PREVIOUS, 0.8))
    assert (found.head, found.name) == (1, "previous token") and found.confidence < 0.9


def test_default_without_named_heads_is_the_most_confident_head_that_is_no_attention_sink(made_up_trace):
    unnamed = 0.5 * THIRD + 0.5 * EVEN
    assert telling(made_up_trace, EVEN, 0.3 * THIRD + 0.7 * EVEN, unnamed).head == 2
    resting = 0.55 * END + 0.45 * THIRD
    assert telling(made_up_trace, resting, EVEN, 0.2 * THIRD + 0.8 * EVEN).head == 2
    found = telling(made_up_trace, 0.7 * FIRST + 0.3 * THIRD, EVEN)
    assert (found.head, found.name) == (1, "")


def test_most_confident_head_is_chosen_if_all_attend_to_the_end_symbol(made_up_trace):
    found = telling(made_up_trace, END, 0.8 * END + 0.2 * THIRD)
    assert (found.head, found.name, found.is_resting) == (1, "", True)
    assert not telling(made_up_trace, END, THIRD).is_resting


def test_default_head_of_an_empty_sentence_is_the_first_head(made_up_trace):
    trace = made_up_trace([], [])
    found = clearest_head(trace, head_metrics(trace, "decoder", SCORES))
    assert (found.layer, found.head, found.name) == (0, 0, "") and np.isnan(found.confidence)


def crossing(made_up_trace, *maps):
    """Return the default cross-attention head. The n-th digit of a map's string is the column that row n attends to."""
    maps = np.array([[np.eye(5)[list(map(int, columns))] for columns in maps]], dtype=float)
    trace = made_up_trace(WORDS[:4], WORDS[:4], cross=maps)
    return clearest_head(trace, head_metrics(trace, "cross", SCORES))


def test_default_cross_attention_head_agrees_best_with_the_other_heads(made_up_trace):
    # The first head is fully confident, but aligns the second word differently from the other heads.
    found = crossing(made_up_trace, "02230", "01234", "01234", "01134")
    assert (found.head, found.name) == (1, ALIGNMENT)


def test_head_that_aligns_the_previous_word_is_chosen_only_if_no_other_head_aligns(made_up_trace):
    assert crossing(made_up_trace, "00123", "01234", "01134", "01224", "01233").head != 0
    # In the rows that predict the tokens, each head aligns at most half of the tokens, but the heads' average aligns
    # more tokens.
    even = np.full((1, 8, 5, 5), 0.05) + 0.75 * np.eye(5)
    resting = np.eye(5)[[4] * 5] * 0.5 + even / 2
    late = np.eye(5)[[0, 0, 1, 2, 3]][None, None]
    trace = made_up_trace(WORDS[:4], WORDS[:4], cross=np.concatenate([late, resting], axis=1))
    metrics = head_metrics(trace, "cross", SCORES)
    assert (metrics.values["alignment_predicted"] <= 0.5).all()
    assert clearest_head(trace, metrics).head == 0


def test_default_head_is_computed_once(made_up_trace):
    trace = made_up_trace(WORDS, WORDS)
    metrics = head_metrics(trace, "cross", SCORES)
    assert clearest_head(trace, metrics) is clearest_head(trace, metrics)


def test_default_cross_attention_head_aligns_the_verb_of_the_first_example(shipped):
    """Layer 4, head 4 is the most confident head, but it never attends to "cross", which "überquerte" translates."""
    trace = shipped.trace("The animal didn't cross the street because it was too tired.")
    found = clearest_head(trace, head_metrics(trace, "cross", shipped.tokenizer.scores))
    words = [token.text for token in trace.source_tokens]
    written = [token.text for token in trace.predicted_tokens]
    looked_at = trace.cross[found.layer, found.head].argmax(axis=-1)
    links = {word: words[column] for word, column in zip(written, looked_at, strict=True)}
    assert links["▁überquerte"] == "▁cross" and links["▁Tier"] == "▁animal" and links["▁nicht"] == "'t"
    assert (found.layer, found.head) != (3, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_shipped_model_has_a_confident_default_head(shipped, kind):
    for text in ("I have a dream.", "The animal didn't cross the street because it was too tired."):
        trace = shipped.trace(text)
        metrics = head_metrics(trace, kind, shipped.tokenizer.scores)
        found = clearest_head(trace, metrics)
        names = head_names(metrics)
        named = {name for layer in names for head in layer for name in head} & {ALIGNMENT, *INFORMATIVE_NAMES}
        assert found.name in (names[found.layer][found.head] if named else [""])
        assert found.confidence == metrics.values["confidence"][found.layer, found.head] > 0.3


def test_every_attention_kind_has_the_metrics_needed_to_choose_a_default_head():
    for kind in KINDS:
        assert {"confidence", "first"} <= {metric.name for metric in metrics_of(kind)}
