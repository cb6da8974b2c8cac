import pytest

from pages.ui.text.sentence_list import LONGEST, MAX_CHARACTERS, MAX_SENTENCES, sentences_in


def test_each_distinct_line_becomes_one_sentence():
    found = sentences_in("\ufeff One. \r\n\n\t\nTwo <b>.\nOne.\n\ud800")
    assert found.sentences == ("One.", "Two <b>.", "\ufffd") and found.said == "Left out: 1 repeated."


def test_message_counts_the_omitted_sentences():
    lines = [f"Sentence {number}." for number in range(MAX_SENTENCES + 3)]
    found = sentences_in("\n".join([*lines, "x" * (LONGEST + 1)]))
    assert found.sentences == tuple(lines[:MAX_SENTENCES])
    assert found.said == "Left out: 1 longer than 1,000 characters, 3 after the first 200."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "No sentence"),
        (" \n \n", "No sentence"),
        ("a\0b", "not plain text"),
        ("x" * (MAX_CHARACTERS + 1), "too long"),
    ],
)
def test_unusable_sentence_list_is_reported(text, said):
    found = sentences_in(text)
    assert not found.sentences and said in found.said
