"""What is said of an unusual sentence, and that nothing is said of usual ones."""

from __future__ import annotations

import json

import pytest

from pages.ui.text.hints import USUAL_WORDS, hints, rare_words
from transformer.files.paths import ASSETS

EXAMPLES = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))
SENTENCES = (ASSETS / "sentences.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_are_usual(text):
    assert hints(text) == []


def test_ordinary_english_is_never_called_another_language():
    assert not [text for text in SENTENCES if any("English" in hint for hint in hints(text))]


@pytest.mark.parametrize("text", [
    "Der Hund ist nicht im Garten.", "Ich habe einen Traum.", "Je ne sais pas.", "El perro no es muy grande.",
    "שלום עולם", "日本語の文", "Привет, как дела?",
])
def test_another_language_is_named(text):
    (hint,) = hints(text)
    assert "not look like English" in hint


@pytest.mark.parametrize(("text", "word"), [
    ("I HAVE A DREAM.", "capitals"), ("She met Obama yesterday.", "names"), ("She met James.", "names"),
    ("We sold 14 cars.", "numbers"),
    (" ".join(["word"] * (USUAL_WORDS + 1)), f"{USUAL_WORDS + 1} words"),
])
def test_what_the_model_has_hardly_met_is_named(text, word):
    (hint,) = hints(text)
    assert word in hint


@pytest.mark.parametrize("text", ["She met Obama yesterday.", "We sold 14 cars."])
def test_what_is_said_already_is_no_hint(text):
    assert hints(text, cautioned=True) == [] != hints(text)


@pytest.mark.parametrize(("text", "words"), [
    ("asdf qwer zxcv", ["asdf", "zxcv"]), ("She likes photosynthesis.", ["photosynthesis"]),
    ("a" * 90, ["a" * 24 + "…"]),
    ("<b>supercalifragilistic</b>!", ["b>supercalifragilistic</…"]), ("", []), ("🙂 42", []),
])
def test_words_that_are_read_in_many_pieces_are_named(shipped, text, words):
    assert rare_words(text, shipped.tokenizer.encode_source(text)) == words


def test_no_word_of_ordinary_english_is_rare(shipped):
    assert not [text for text in [*EXAMPLES, *SENTENCES] if rare_words(text, shipped.tokenizer.encode_source(text))]


@pytest.mark.parametrize("text", [
    "", "?!", "🙂", "OK", "I am. You are.", "Yes, I'm German.", "I left on Monday.",
    "My students asked whether the old library near the river is open on Sundays .", "We read last Sunday's paper.",
    "Both Sundays’ papers were dull.", "She remembers cold Decembers.",
])
def test_nothing_is_said_without_a_reason(text):
    assert hints(text) == []


def test_the_text_is_part_of_no_hint():
    assert not [hint for hint in hints("Der <b>Hund</b> ist nicht " * 9) if "<b>" in hint or "Hund" in hint]
