import numpy as np
import pytest

from transformer.analysis.heads.metrics import HeadMetrics, head_metrics, metrics_of
from transformer.analysis.heads.names import RULES, head_names, head_rules

SOURCE = [f"w{number}" for number in range(20)] + ["."]
TARGET = [f"v{number}" for number in range(20)] + ["."]
RARE = 7
SCORES = [0.0] * 10 + [-20.0 if number == RARE else -5.0 for number in range(21)]
QUERIES = 22


def names(trace, kind):
    return head_names(head_metrics(trace, kind, SCORES))[0][0]


def positional(offset, hits, strength):
    """Return a map in which `hits` queries put `strength` of their attention on the token `offset` positions away."""
    weights = np.zeros((QUERIES, QUERIES))
    # Rows whose target is neither the first token nor the end symbol.
    asked = [row for row in range(QUERIES) if 0 < row + offset < QUERIES - 1]
    for row in range(QUERIES):
        share = strength if row in asked[:hits] else 0.0
        weights[row, (row + offset) % QUERIES] += share
        weights[row, 1 + (row + 7) % (QUERIES - 3)] += 1.0 - share
    return weights


@pytest.mark.parametrize(("offset", "name"), [(-1, "previous token"), (0, "same token"), (1, "next token")])
def test_positional_head_is_named_after_its_offset(made_up_trace, offset, name):
    trace = made_up_trace(SOURCE, TARGET, encoder=positional(offset, 18, 0.9))
    assert names(trace, "encoder") == (name,)
    rules = head_rules(head_metrics(trace, "encoder", SCORES))[0][0]
    assert "Voita" in rules[0].threshold and len(rules) == (1 if offset == 0 else 2)


def test_decoder_head_that_attends_one_token_back_is_named_previous_token(made_up_trace):
    decoder = np.eye(QUERIES, k=-1)
    decoder[0, 0] = 1.0
    assert names(made_up_trace(SOURCE, TARGET, decoder=decoder), "decoder") == ("previous token",)


def test_head_with_60_percent_on_the_previous_token_is_named_only_by_the_clark_rule(made_up_trace):
    trace = made_up_trace(SOURCE, TARGET, encoder=positional(-1, 20, 0.6))
    (rule,) = head_rules(head_metrics(trace, "encoder", SCORES))[0][0]
    assert rule.name == "previous token" and "Clark" in rule.threshold


def passes(kind="encoder", **values):
    """Return the names of a head with the given metrics. All other metrics are 0."""
    full = {metric.name: np.full((1, 1), values.get(metric.name, 0.0)) for metric in metrics_of(kind)}
    assert values.keys() <= full.keys()
    return head_names(HeadMetrics(kind, full, dict.fromkeys(full, 10)))[0][0]


@pytest.mark.parametrize("metric", ["previous", "same", "next"])
def test_positional_heads_are_named_only_above_their_threshold(metric):
    name = (f"{metric} token",)
    strongest = f"strongest_{metric}"
    assert passes(**{strongest: 0.9, "confidence": 0.81}) == name
    assert passes(**{strongest: 0.9, "confidence": 0.80}) == (), "the confidence must be above 0.8"
    assert passes(**{strongest: 0.89, "confidence": 0.99}) == (), "nine queries of ten"


@pytest.mark.parametrize("metric", ["previous", "next"])
def test_neighbour_heads_are_named_only_above_their_threshold(metric):
    name = (f"{metric} token",)
    assert passes(**{metric: 0.51, f"strongest_{metric}": 0.6}) == name
    assert passes(**{metric: 0.50, f"strongest_{metric}": 0.6}) == ()
    assert passes(**{metric: 0.51, f"strongest_{metric}": 0.5}) == ()


def test_clark_rule_does_not_name_a_head_whose_tokens_attend_to_themselves():
    assert passes(same=0.7, strongest_same=0.7, confidence=0.7) == ()


@pytest.mark.parametrize(
    ("metric", "name", "kind"),
    [
        ("end", "end symbol", "encoder"),
        ("end", "end symbol", "cross"),
        ("punctuation", "punctuation", "decoder"),
        ("strongest_rarest", "rare word", "encoder"),
        ("alignment_predicted", "alignment", "cross"),
        ("alignment_read", "alignment", "cross"),
    ],
)
def test_head_with_more_than_half_of_its_attention_on_one_target_is_named(metric, name, kind):
    assert passes(kind, **{metric: 0.51}) == (name,)
    assert passes(kind, **{metric: 0.50}) == ()
    assert passes(kind, **{metric: np.nan}) == ()


@pytest.mark.parametrize("count", [1, 2, 3, 20])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_head_that_attends_only_to_the_first_token_has_no_name(made_up_trace, kind, count):
    weights = np.tile(np.eye(count + 1)[0], (count + 1, 1))
    trace = made_up_trace(SOURCE[:count], TARGET[:count], **{kind: weights})
    assert names(trace, kind) == ()


@pytest.mark.parametrize("count", [1, 2, 3, 20])
@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_head_that_attends_only_to_the_end_symbol_is_named_end_symbol(made_up_trace, kind, count):
    weights = np.tile(np.eye(count + 1)[-1], (count + 1, 1))
    assert names(made_up_trace(SOURCE[:count], TARGET[:count], **{kind: weights}), kind) == ("end symbol",)


def test_head_that_attends_only_to_an_opening_quotation_mark_has_no_name(made_up_trace):
    trace = made_up_trace(['"', "Go", "on", "he", "said"], TARGET[:5], encoder=np.tile(np.eye(6)[0], (6, 1)))
    assert names(trace, "encoder") == ()


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_head_with_uniform_attention_has_no_name(made_up_trace, kind):
    assert names(made_up_trace(SOURCE, TARGET), kind) == ()


def test_every_naming_rule_states_its_threshold_and_source():
    for rule in RULES:
        assert rule.threshold.endswith(".") and ("et al." in rule.threshold or "this app" in rule.threshold)
