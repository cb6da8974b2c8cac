import pytest

from attention_atlas.browser.labels import column_labels, disambiguate, place_of, row_labels, titles
from transformer.analysis.view import Axes, axes_of
from transformer.values.tokens import Token


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator.trace("The dog and the dog.", "Der Hund und der Hund.")


def test_decoder_row_label_names_the_token_read_and_the_token_predicted(trace):
    axes = axes_of(trace, "decoder", words=True)
    rows = row_labels(axes)
    assert rows[0].startswith("in: <s> start → out: ") and rows[2].startswith("in: Hund → out: ")
    assert column_labels(axes)[:3] == ["<s> start", "Der", "Hund"]
    # In the word view, the predicted token is spelled as in the text, without "␣".
    assert rows[-1] == "in: . → out: </s> end" and not any("␣" in row for row in rows)
    assert all(row.split(" → out: ")[1].replace("…", "") in "Der Hund und der Hund. </s> end" for row in rows)
    assert row_labels(axes_of(trace, "decoder"))[0].startswith("in: <s> start → out: ␣")


def test_ellipsis_marks_a_word_that_is_split_between_two_rows(shipped):
    trace = shipped.trace("He lost his umbrella stand.", "Er verlor seinen Schirmständer gestern, ja.")
    first = trace.predicted_tokens[3].text.removeprefix("▁")
    rest = "Schirmständer".removeprefix(first)
    assert first and rest and rest != "Schirmständer", "a word that the vocabulary cuts"
    for kind in ("decoder", "cross"):
        rows = row_labels(axes_of(trace, kind, words=True))
        assert f"in: seinen → out: {first}…" in rows and f"in: Schirmständer → out: …{rest} gestern" in rows
        # Each punctuation mark counts as a separate word.
        assert {"in: gestern → out: ,", "in: , → out: ja"} <= {*rows}
    assert not any("…" in row for row in row_labels(axes_of(trace, "decoder")))


def test_encoder_row_label_is_the_word_of_the_row(trace):
    axes = axes_of(trace, "encoder", words=True)
    assert row_labels(axes) == column_labels(axes) == ["The", "dog", "and", "the", "dog", ".", "</s> end"]


def test_axis_titles_state_the_direction_of_attention():
    assert titles(words=False) == ("from: the token that looks", "to: the token looked at")
    assert titles(words=True) == ("from: the word that looks", "to: the word looked at")


def test_row_label_has_no_ellipsis_between_two_separate_words():
    """In the Japanese text, "は" is a separate word, but "thon" continues the word "Python"."""
    text, spans = "猫はPython", ((0, 1), (1, 2), (2, 4), (4, 8))
    tokens = tuple(Token(9, text[slice(*span)], span) for span in spans)
    groups = tuple((token,) for token in tokens[:3])
    positions = ((0,), (1,), (2,))
    axes = Axes(
        "decoder",
        positions,
        positions,
        groups,
        groups,
        tuple((token,) for token in tokens[1:]),
        text,
        text,
        words=True,
        special=True,
    )
    assert row_labels(axes) == ["in: 猫 → out: は", "in: は → out: Py…", "in: Py → out: …thon"]


def test_repeated_labels_are_numbered():
    assert disambiguate(["the", "dog", "the", "The", "the"]) == ["the", "dog", "the (2)", "The", "the (3)"]
    # "␣the" and "the" count as equal, because a caption omits the space.
    assert disambiguate(["␣the", "the", "␣", "␣"]) == ["␣the", "the (2)", "␣", "␣ (2)"]


def test_word_position_is_stated_only_if_the_word_is_repeated():
    labels = ["␣the", "dog", "the", "The"]
    assert [place_of(labels, at) for at in range(4)] == [" (position 1)", "", " (position 3)", ""]
