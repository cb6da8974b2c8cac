import numpy as np
import pytest

from transformer.attribution.agreement import agreement
from transformer.attribution.attribution import METHODS, Target
from transformer.measurements.agreement import AgreementStatistics, agreement_statistics

SENTENCE = "The old man is asleep."


@pytest.mark.thorough
def test_agreement_is_measured_on_one_predicted_token_per_sentence(small_translator):
    found = agreement_statistics(small_translator, [SENTENCE, "No."])
    assert (found.sentences, found.left_out, found.methods) == (1, 1, tuple(METHODS))
    assert found.model == small_translator.version and found.words == 6
    trace = small_translator.trace(SENTENCE, details=True)
    every = (
        agreement(
            [small_translator.attribute(trace, method, [Target((position,))], words=True) for method in METHODS],
            range(6),
        )
        for position in range(len(trace.predicted_tokens) - 1)
    )
    assert any(np.allclose(found.tau.mean, each.tau) for each in every), "a word of one token was drawn"
    np.testing.assert_array_equal(found.tau.low, found.tau.high)


def test_agreement_statistics_are_reproducible_and_survive_saving_and_loading(small_translator):
    texts = [SENTENCE, "I have a dream."]
    found = agreement_statistics(small_translator, texts)
    again = AgreementStatistics.from_json(found.to_json())
    np.testing.assert_allclose(again.tau.mean, found.tau.mean, atol=1e-6)
    np.testing.assert_allclose(again.same_first.high, found.same_first.high, atol=1e-6)
    assert again.digest == found.digest and found.to_json() == agreement_statistics(small_translator, texts).to_json()


def test_sentences_with_too_few_words_to_rank_raise_an_error(small_translator):
    with pytest.raises(ValueError, match="no sentence has words that can be ranked"):
        agreement_statistics(small_translator, ["No."])
