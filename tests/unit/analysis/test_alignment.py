import numpy as np
import pytest

from transformer.analysis.alignment import (
    alignment_error_rate,
    alignment_rows,
    consensus,
    coverage,
    hard_alignment,
    links,
    special_columns,
    special_share,
)


def test_alignment_error_rate_matches_a_known_value():
    rate = alignment_error_rate({(0, 0), (1, 1), (2, 1)}, {(0, 0), (1, 2)}, {(2, 1)})
    assert rate == pytest.approx(0.4, abs=1e-6)


def test_alignment_error_rate_ranges_from_zero_to_one():
    sure = {(0, 0), (1, 1)}
    assert alignment_error_rate(sure, sure) == 0.0
    assert alignment_error_rate({(0, 1)}, sure) == 1.0
    assert alignment_error_rate(set(), sure) == 1.0
    assert alignment_error_rate({(0, 0), (1, 1), (2, 2)}, sure, {(2, 2)}) == 0.0, "a possible link costs nothing"
    with pytest.raises(ValueError, match="is undefined"):
        alignment_error_rate(set(), set(), {(0, 0)})


def test_hard_alignment_excludes_special_tokens():
    weights = np.array([[0.1, 0.2, 0.7], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]])
    found = hard_alignment(weights, np.array([False, False, True]))
    assert found.tolist() == [1, 0, 0]
    assert links(found) == {(0, 1), (1, 0), (2, 0)}
    with pytest.raises(ValueError, match="all 3"):
        hard_alignment(weights, np.ones(3, bool))


def test_shifted_alignment_rows_belong_to_the_steps_that_read_the_tokens(made_up_trace):
    cross = np.arange(12, dtype=float).reshape(4, 3)
    trace = made_up_trace(["a", "b"], ["x", "y", "z"], cross=cross)
    assert alignment_rows(trace, shift=False)[0, 0].tolist() == cross[:3].tolist(), "row t predicts target token t"
    assert alignment_rows(trace, shift=True)[0, 0].tolist() == cross[1:].tolist(), "row t + 1 reads it"
    read = [token.text for token in trace.target_tokens[1:]]
    assert read == [token.text for token in trace.predicted_tokens[:-1]] == ["▁x", "▁y", "▁z"]


def test_copying_model_aligns_tokens_at_the_predicting_step(copying_translator):
    trace = copying_translator.trace("the old dog")
    special = special_columns(trace)
    count = len(trace.target_tokens) - 1
    predicted, read = (hard_alignment(alignment_rows(trace, shift=shift), special)[0, 0] for shift in (False, True))
    assert predicted.tolist() == consensus(trace).tolist() == list(range(count))
    # The row that reads a token aligns it one position too far. The last row is left out: it predicts the end symbol.
    assert read[:-1].tolist() == list(range(1, count))
    gold = {(at, at) for at in range(count)}
    assert alignment_error_rate(links(predicted), gold) == 0.0 < alignment_error_rate(links(read), gold)


def test_attention_coverage_sums_to_the_number_of_target_tokens(small_translator):
    trace = small_translator.trace("The old man reads a book.", "Der alte Mann liest.")
    rows = alignment_rows(trace, shift=True)
    covered = coverage(rows)
    assert covered.shape == trace.cross.shape[:2] + trace.cross.shape[-1:]
    np.testing.assert_allclose(covered.sum(-1), rows.shape[-2], atol=1e-4)
    assert coverage(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist() == [1.5, 0.5]


def test_special_token_share_is_the_attention_to_the_end_symbol(small_translator):
    trace = small_translator.trace("A dog.", "Ein Hund.")
    rows = alignment_rows(trace, shift=False)
    share = special_share(rows, special_columns(trace))
    np.testing.assert_array_equal(share, rows[..., -1])
