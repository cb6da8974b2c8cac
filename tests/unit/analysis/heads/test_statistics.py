import numpy as np
import pytest

from transformer.analysis.heads.metrics import HeadMetrics, average, head_metrics
from transformer.analysis.heads.pattern import row_entropy
from transformer.analysis.heads.statistics import Statistics, statistics_of
from transformer.values.trace import KINDS

SENTENCES = ["I have a dream.", "The old man reads a book in the garden.", "A dog"]


@pytest.fixture(scope="module")
def traces(small_translator):
    return [small_translator.trace(sentence, "Ein Hund.") for sentence in SENTENCES]


@pytest.fixture(scope="module")
def statistics(small_translator, traces):
    return statistics_of(iter(traces), small_translator.tokenizer, small_translator.version)


def test_head_statistics_average_every_attention_kind(small_translator, traces, statistics):
    assert statistics.sentences == 3 and statistics.model == small_translator.version
    for kind in KINDS:
        expected = average(head_metrics(trace, kind, small_translator.tokenizer.scores) for trace in traces)
        assert statistics.heads[kind].queries == expected.queries
        for name, values in expected.values.items():
            np.testing.assert_array_equal(statistics.heads[kind].values[name], values)


def test_mean_over_sentences_is_weighted_by_their_number_of_rows(traces, statistics):
    rows = np.concatenate([row_entropy(trace.encoder.astype(float)) for trace in traces], axis=-1)
    np.testing.assert_allclose(statistics.heads["encoder"].values["entropy"], rows.mean(-1), atol=1e-12)


def test_head_statistics_survive_saving_and_loading(statistics):
    read = Statistics.from_json(statistics.to_json())
    assert (read.model, read.sentences) == (statistics.model, statistics.sentences)
    for kind in KINDS:
        assert dict(read.heads[kind].queries) == dict(statistics.heads[kind].queries)
        for name, values in statistics.heads[kind].values.items():
            np.testing.assert_allclose(read.heads[kind].values[name], values, atol=5e-7, equal_nan=True)


def test_saving_loaded_statistics_gives_an_identical_file(statistics):
    measured = statistics.heads["cross"]
    agreement = np.full_like(measured.values["alignment_read"], 2 / 3)
    aligned = {"alignment_predicted": agreement, "alignment_read": agreement}
    cross = HeadMetrics("cross", {**measured.values, **aligned}, measured.queries)
    text = Statistics("x", 1, {**statistics.heads, "cross": cross}).to_json()
    assert '"agreement": 0.666667' in text and Statistics.from_json(text).to_json() == text


def test_metric_with_no_applicable_queries_is_unknown(small_translator):
    trace = small_translator.trace("A dog", "Ein Hund")
    statistics = statistics_of([trace], small_translator.tokenizer, "x")
    assert "null" in statistics.to_json()
    assert np.isnan(Statistics.from_json(statistics.to_json()).heads["encoder"].values["punctuation"]).all()


def test_statistics_without_sentences_raise_an_error(small_translator):
    with pytest.raises(ValueError):
        statistics_of([], small_translator.tokenizer, "x")
