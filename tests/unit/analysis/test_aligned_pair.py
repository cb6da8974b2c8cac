import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.analysis.aligned_pair import UNITS, align
from transformer.analysis.aligner import Aligner

AT_READ, AT_PREDICTED = (Aligner(0, (0,), step, 1.0, 0) for step in ("read", "predicted"))


def test_shipped_model_aligns_a_translation_with_changed_word_order(shipped):
    trace = shipped.trace("He said that he was tired.", "Er sagte, dass er müde war.")
    pair = align(trace, Aligner(0, (7, 6), "read", 1.0, 0), "spaces")
    assert pair.source == ("He", "said", "that", "he", "was", "tired.")
    assert pair.target == ("Er", "sagte,", "dass", "er", "müde", "war.")
    assert pair.links == ((0, 0), (1, 1), (2, 2), (3, 3), (5, 4), (4, 5))
    words = align(trace, Aligner(0, (7, 6), "read", 1.0, 0), "words")
    assert words.source[-2:] == ("tired", ".") and words.target[-2:] == ("war", ".")
    tokens = align(trace, Aligner(0, (7, 6), "read", 1.0, 0), "tokens")
    assert tokens.source == tuple(token.text for token in trace.source_tokens[:-1])


def test_aligner_reads_the_row_of_the_step_that_predicts_or_reads_the_token(small_translator):
    trace = small_translator.trace("I have a dream.", "Ich habe")
    source = [not token.special for token in trace.source_tokens]
    for aligner, shift in ((AT_READ, 1), (AT_PREDICTED, 0)):
        rows = trace.cross[0, 0, shift : shift + len(trace.predicted_tokens) - 1]
        expected = [(int(np.where(source, row, -1).argmax()), at) for at, row in enumerate(rows)]
        assert list(align(trace, aligner, "tokens").links) == expected


def test_word_weight_sums_source_tokens_and_averages_target_tokens(small_translator):
    trace = small_translator.trace("grandmother sleeps", "Großmutter schläft")
    pair = align(trace, AT_PREDICTED, "spaces")
    assert pair.source == ("grandmother", "sleeps") and pair.target == ("Großmutter", "schläft")
    groups = [
        [at for at, token in enumerate(tokens) if token.span and begin <= token.span[0] < end]
        for tokens, begin, end in (
            (trace.source_tokens, 0, 11),
            (trace.source_tokens, 12, 18),
            (trace.predicted_tokens, 0, 10),
        )
    ]
    first, second = (trace.cross[0, 0][np.ix_(groups[2], columns)].sum(axis=1).mean() for columns in groups[:2])
    assert pair.links[0] == (int(second > first), 0)
    assert pair.weights[0] == pytest.approx(max(first, second), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    st.text(st.sampled_from("aZé .,'-日本ह🙂\u00a0\t0"), min_size=1, max_size=20).filter(str.strip),
    st.sampled_from(UNITS),
)
def test_aligned_word_indices_stay_within_the_sentences_for_any_text(small_translator, text, unit):
    trace = small_translator.trace("I have a dream.", text)
    pair = align(trace, AT_READ, unit)
    assert all(0 <= source < len(pair.source) and 0 <= target < len(pair.target) for source, target in pair.links)
    assert len({target for _, target in pair.links}) == len(pair.links)
    if unit == "spaces":
        assert list(pair.target) == text.split()
