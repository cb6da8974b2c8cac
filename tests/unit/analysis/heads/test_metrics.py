import numpy as np
import pytest

from transformer.analysis.heads.metrics import (
    METRICS,
    HeadMetrics,
    _query_metrics,
    average,
    head_metrics,
    is_punctuation,
    metrics_of,
)
from transformer.values.tokens import Token
from transformer.values.trace import KINDS

SOURCE = ["The", "animal", "was", "very", "tired", "."]
TARGET = ["Das", "Tier", "war", "müde", "."]
# Token ids count up from 10. "very" is the rarest source token.
SCORES = [0.0] * 10 + [-3.0, -9.0, -5.0, -12.0, -10.0, -2.0]


def looking(*columns, of):
    return np.eye(of)[list(columns)]


def measured(trace, kind):
    return {name: float(values[0, 0]) for name, values in head_metrics(trace, kind, SCORES).values.items()}


def test_entropy_and_span_match_known_values(made_up_trace):
    trace = made_up_trace(["a", "b"], ["x"], encoder=np.tile([0.7, 0.2, 0.1], (3, 1)))
    found = measured(trace, "encoder")
    assert found["entropy"] == pytest.approx(0.801819, abs=1e-6)
    assert found["span"] == pytest.approx(2.229592, abs=1e-6)
    assert found["entropy"] / np.log(2) == pytest.approx(1.156780, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_uniform_attention_has_the_maximum_entropy(made_up_trace, kind):
    trace = made_up_trace(SOURCE, TARGET)
    visible = trace.mask(kind).sum(axis=1)
    found = measured(trace, kind)
    assert found["entropy"] == pytest.approx(np.log(visible).mean(), abs=1e-6)
    assert found["span"] == pytest.approx(visible.mean(), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_every_metric_is_within_its_range(small_translator, kind):
    trace = small_translator.trace("The old man, a reader, has books.", "Der alte Mann, ein Leser, hat Bücher.")
    metrics = head_metrics(trace, kind, small_translator.tokenizer.scores)
    assert list(metrics.values) == list(metrics.queries) == [metric.name for metric in metrics_of(kind)]
    for metric in metrics_of(kind):
        values = metrics.values[metric.name]
        assert values.shape == trace.attention(kind).shape[:2] and values.dtype == np.float64
        assert not values.flags.writeable
        assert metrics.queries[metric.name] > 0, metric.name
        assert (values >= metric.low - 1e-6).all() and (values <= (metric.high or np.inf) + 1e-6).all(), metric.name
    assert (metrics.values["entropy"] <= np.log(trace.mask(kind).sum(axis=1)).mean() + 1e-6).all()


def test_metric_list_describes_each_metric_once():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len({metric.title for metric in METRICS}) == len(METRICS), "a title is the name of a column of the table"
    for metric in METRICS:
        assert metric.meaning.endswith(".") and metric.title and metric.unit in ("nats", "tokens", "share")
        assert metric.low >= 0, f"{metric.name}: the colours of the maps and the bars below heads begin at 0"


def test_metric_list_contains_every_computed_metric(made_up_trace):
    computed = {name for kind in KINDS for name, _ in _query_metrics(made_up_trace(SOURCE, TARGET), kind, SCORES)}
    assert computed == {metric.name for metric in METRICS}, "METRICS lists what _each_query yields, by the same name"


def test_confidence_excludes_the_end_symbol(made_up_trace):
    encoder = np.array([[0.1, 0.3, 0.6], [0.5, 0.4, 0.1], [0.0, 0.2, 0.8]])
    assert measured(made_up_trace(["a", "b"], ["x"], encoder=encoder), "encoder")["confidence"] == pytest.approx(1 / 3)


def test_confidence_excludes_the_first_decoder_step(made_up_trace):
    found = head_metrics(made_up_trace(SOURCE, TARGET, decoder=np.eye(6)), "decoder", SCORES)
    assert found.values["confidence"][0, 0] == 1.0 and found.queries["confidence"] == 5


@pytest.mark.parametrize(
    ("name", "columns", "queries"),
    [("previous", (6, 0, 1, 2, 3, 4, 5), 5), ("same", range(7), 5), ("next", (1, 2, 3, 4, 5, 6, 0), 5)],
)
def test_head_that_always_attends_at_one_offset_scores_one_only_for_that_offset(made_up_trace, name, columns, queries):
    trace = made_up_trace(SOURCE, TARGET, encoder=looking(*columns, of=7))
    metrics = head_metrics(trace, "encoder", SCORES)
    found = measured(trace, "encoder")
    for other in ("previous", "same", "next"):
        assert found[f"strongest_{other}"] == (other == name)
        assert found[other] == (other == name)
    assert metrics.queries[f"strongest_{name}"] == queries, "queries whose token is the first or the end are not asked"
    assert found["entropy"] == 0 and found["span"] == 1


def test_decoder_has_no_metrics_for_later_tokens_or_the_end_symbol(made_up_trace):
    found = measured(made_up_trace(SOURCE, TARGET), "decoder")
    assert not {"next", "strongest_next", "end", "alignment_read"} & found.keys()


def test_decoder_metrics_of_a_previous_token_head_have_known_values(made_up_trace):
    trace = made_up_trace(SOURCE, TARGET, decoder=looking(0, 0, 1, 2, 3, 4, of=6))
    found = measured(trace, "decoder")
    assert found["previous"] == found["strongest_previous"] == 1.0
    assert found["first"] == pytest.approx(2 / 6) and found["distance"] == pytest.approx(5 / 6)


def test_attention_share_metrics_match_hand_computed_values(made_up_trace):
    row = [0.3, 0.0, 0.05, 0.05, 0.0, 0.2, 0.4]
    found = measured(made_up_trace(SOURCE, TARGET, encoder=np.tile(row, (7, 1))), "encoder")
    assert found["first"] == pytest.approx(0.3) and found["end"] == pytest.approx(0.4)
    assert found["punctuation"] == pytest.approx(0.2)
    assert found["previous"] == pytest.approx(np.mean(row[:6])) and found["next"] == pytest.approx(np.mean(row[1:]))
    assert found["same"] == pytest.approx(np.mean(row))
    distances = np.abs(np.arange(7)[:, None] - np.arange(7))
    assert found["distance"] == pytest.approx((distances @ row).mean())


def test_rarity_metric_is_the_share_of_queries_that_attend_to_the_rarest_token(made_up_trace):
    found = measured(made_up_trace(SOURCE, TARGET, encoder=looking(3, 3, 3, 3, 3, 0, 6, of=7)), "encoder")
    assert found["strongest_rarest"] == pytest.approx(5 / 7)


def test_sentence_that_begins_with_its_rarest_token_has_no_rarity_metric(made_up_trace):
    trace = made_up_trace(["Zebras", "run"], ["Zebras"], encoder=looking(0, 0, 0, of=3))
    metrics = head_metrics(trace, "encoder", [0.0] * 10 + [-12.0, -3.0])
    assert metrics.queries["strongest_rarest"] == 0 and np.isnan(metrics.values["strongest_rarest"]).all()


def test_sentence_without_punctuation_has_no_punctuation_metric(made_up_trace):
    metrics = head_metrics(made_up_trace(["a", "b"], ["x"]), "encoder", SCORES)
    assert metrics.queries["punctuation"] == 0 and np.isnan(metrics.values["punctuation"]).all()


def test_empty_translation_has_no_alignment_metric(made_up_trace):
    trace = made_up_trace(SOURCE, [])
    for kind in KINDS:
        metrics = head_metrics(trace, kind, SCORES)
        assert np.isfinite(metrics.values["entropy"]).all()
    assert np.isnan(metrics.values["alignment_read"]).all()


def test_alignment_metrics_measure_agreement_with_the_average_head(made_up_trace):
    predicts, reads = looking(1, 2, 4, 5, 0, 6, of=7), looking(6, 1, 2, 4, 5, 0, of=7)
    cross = np.stack([predicts, predicts, reads])[:, None]
    found = head_metrics(made_up_trace(SOURCE, TARGET, cross=cross), "cross", SCORES)
    assert found.values["alignment_predicted"].ravel().tolist() == [1.0, 1.0, 0.0]
    assert found.values["alignment_read"].ravel().tolist() == [0.0, 0.0, 1.0]
    assert found.queries["alignment_read"] == 4, "the link to the first token is not counted"


def test_metrics_of_a_copying_model_have_known_values(copying_translator):
    """The encoder attends to the next token, the decoder to the previous one; cross-attention follows the diagonal."""
    trace = copying_translator.trace("the old dog reads")
    scores = copying_translator.tokenizer.scores
    encoder, decoder, cross = (
        {name: float(values[0, 0]) for name, values in head_metrics(trace, kind, scores).values.items()}
        for kind in KINDS
    )
    assert encoder["strongest_next"] == decoder["strongest_previous"] == cross["alignment_predicted"] == 1.0
    assert encoder["strongest_previous"] == decoder["strongest_same"] == cross["alignment_read"] == 0.0


def test_average_of_a_metric_is_the_mean_over_all_queries(made_up_trace):
    looks_back = made_up_trace(SOURCE, TARGET, encoder=looking(6, 0, 1, 2, 3, 4, 5, of=7))
    even = made_up_trace(["a", "b"], ["x"])
    one, other = (head_metrics(trace, "encoder", SCORES) for trace in (looks_back, even))
    both = average([one, other])
    assert both.queries["entropy"] == 10 and both.queries["strongest_previous"] == 6
    assert both.values["entropy"][0, 0] == pytest.approx(3 * np.log(3) / 10)
    assert both.values["strongest_previous"][0, 0] == pytest.approx(5 / 6)
    assert both.queries["punctuation"] == 7 and both.values["punctuation"][0, 0] == one.values["punctuation"][0, 0]
    assert average([other]).values["entropy"][0, 0] == pytest.approx(other.values["entropy"][0, 0])
    assert np.isnan(average([other]).values["punctuation"]).all()


def test_averaging_metrics_of_different_attention_kinds_raises_an_error(made_up_trace):
    trace = made_up_trace(SOURCE, TARGET)
    mixed = [head_metrics(trace, kind, SCORES) for kind in KINDS]
    with pytest.raises(ValueError, match="one kind"):
        average(mixed)
    with pytest.raises(ValueError, match="one kind"):
        average([])


@pytest.mark.parametrize(
    ("text", "span", "punctuation"),
    [
        (".", (0, 1), True),
        ("„", (0, 1), True),
        ("?!", (0, 2), True),
        ("a.", (0, 2), False),
        ("$", (0, 1), False),
        ("a", (0, 0), False),
        ("a", None, False),
    ],
)
def test_token_is_punctuation_if_its_text_in_the_sentence_is_punctuation(text, span, punctuation):
    assert is_punctuation(Token(9, "▁x", span), text) == punctuation


def test_changing_head_metrics_raises_an_error(made_up_trace):
    metrics = head_metrics(made_up_trace(SOURCE, TARGET), "encoder", SCORES)
    assert isinstance(metrics, HeadMetrics)
    with pytest.raises(ValueError):
        metrics.values["entropy"][0, 0] = 1.0
    with pytest.raises(TypeError):
        metrics.values["entropy"] = None
