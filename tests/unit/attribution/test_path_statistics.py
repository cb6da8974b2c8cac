import numpy as np
import pytest

from transformer.measurements.paths import PathStatistics, path_statistics

TEXTS = ["The old man is asleep.", "I have a dream."]


def test_path_statistics_are_reproducible_and_survive_saving_and_loading(small_translator):
    found = path_statistics(small_translator, TEXTS)
    assert (found.sentences, found.model) == (2, small_translator.version) and -1 <= found.difference.mean <= 1
    again = PathStatistics.from_json(found.to_json())
    np.testing.assert_allclose(again.difference.high, found.difference.high, atol=1e-6)
    assert found.to_json() == path_statistics(small_translator, TEXTS).to_json()


def test_path_statistics_without_sentences_raise_an_error(small_translator):
    with pytest.raises(ValueError, match="there are no sentences"):
        path_statistics(small_translator, [])
