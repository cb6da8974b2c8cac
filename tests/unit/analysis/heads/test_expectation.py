import numpy as np
import pytest

from transformer.analysis.heads.expectation import alignment_expectation, alignment_heads, position_expectation
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.view import view_of

WORDS = ["a", "b", "c", "d"]
SCORES = [0.0] * 20


@pytest.fixture
def crossed(made_up_trace):
    """Return a function that makes cross-attention heads from strings: row n looks at the column in the n-th digit."""

    def make(*heads, words=WORDS):
        maps = np.array([[np.eye(5)[list(map(int, columns))] for columns in heads]])
        trace = made_up_trace(WORDS, words, cross=maps)
        return view_of(trace, "cross"), head_metrics(trace, "cross", SCORES)

    return make


def test_expected_alignment_is_the_average_of_all_alignment_heads(crossed):
    view, metrics = crossed("01234", "01234", "02234", "44444")
    heads, read = alignment_heads(metrics)
    assert heads.tolist() == [[True, True, True, False]] and not read
    expected = alignment_expectation(view, metrics)
    assert expected.weights[1] == pytest.approx([0, 2 / 3, 1 / 3, 0, 0])
    assert expected.weights[4].sum() == 0, "the end symbol is nothing to align with"
    assert expected.counted.tolist() == [True, True, True, True, False], "the last step writes no word"
    assert expected.support(view.weights)[0] == pytest.approx([11 / 12, 11 / 12, 10 / 12, 0])


def test_alignment_head_is_flagged_in_rows_that_differ_from_the_average(crossed):
    view, metrics = crossed("01234", "01234", "02134")
    expected = alignment_expectation(view, metrics)
    outlier = expected.outlier(view.weights[0, 2])
    assert (outlier.row, outlier.column, outlier.expected, outlier.rows, outlier.counted) == (1, 2, 1, 2, 4)
    assert expected.outlier(view.weights[0, 0]) is None


def test_punctuation_is_excluded_from_the_expected_alignment(crossed):
    view, metrics = crossed("01234", "01234", "01224", words=["a", "b", "c", "."])
    expected = alignment_expectation(view, metrics)
    assert expected.counted.tolist() == [True, True, True, False, False]
    assert expected.outlier(view.weights[0, 2]) is None


def test_no_alignment_is_expected_without_alignment_heads(crossed):
    view, metrics = crossed("44444", "44444")
    assert alignment_expectation(view, metrics) is None


def test_head_named_previous_token_is_expected_to_attend_one_token_back(made_up_trace):
    view = view_of(made_up_trace(WORDS, WORDS), "encoder")
    expected = position_expectation(view, "previous token")
    # Three rows are not counted. The first row has no previous token. The second row's previous token is the first
    # token, an attention sink. The last row belongs to the end symbol.
    assert expected.counted.tolist() == [False, False, True, True, False] and expected.read
    straying = np.eye(5)[[0, 0, 1, 0, 4]]
    outlier = expected.outlier(straying)
    assert (outlier.row, outlier.column, outlier.expected, outlier.rows) == (3, 0, 2, 1)
    assert position_expectation(view, "rare word") is None


def test_rows_of_words_split_into_several_tokens_are_not_flagged_as_exceptions(small_translator):
    trace = small_translator.trace("Antidisestablishmentarianism is a word.")
    view = view_of(trace, "encoder", words=True)
    several = np.array([len(group) > 1 for group in view.axes.rows])
    assert several.any()
    expected = position_expectation(view, "same token")
    assert expected is None or not (expected.counted & several).any()
