import pytest

from transformer.text.tokenizer import train_tokenizer
from transformer.training.vocabulary import coverage

TEXT = "because the dog did not"


@pytest.fixture(scope="module")
def vocabulary():
    return train_tokenizer([TEXT] * 50 + ["s o m e"], size=390)


def test_words_that_are_single_tokens_are_counted_once_per_occurrence(vocabulary):
    counted = coverage(vocabulary, ["The “dog”, because", "the dog did not 12 dogs"])
    assert counted.words == 8
    assert counted.whole == 6, "not 'The' and 'dogs'"
    assert "75.0 %" in str(counted)


def test_vocabulary_report_lists_words_from_which_a_single_letter_is_split_off(vocabulary):
    cut = coverage(vocabulary, [TEXT + " dogs becausebecause"]).cut
    assert cut == {"dogs": ("▁dog", "s")}
    assert str(coverage(vocabulary, [TEXT])).endswith("none")


def test_text_without_words_is_rejected(vocabulary):
    with pytest.raises(ValueError, match="no word"):
        coverage(vocabulary, ["1984!", ""])
