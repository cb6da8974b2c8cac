import json

import pytest

from pages.ui.text.hints import (
    LUCKY,
    MISTAKES,
    USUAL_WORDS,
    describe_likely_errors,
    known_remarks,
    rare_words,
    unknown_characters,
    unusual_spelling,
)
from transformer.decoding.texts import MAX_TOKENS
from transformer.files.paths import ASSETS

EXAMPLES = json.loads((ASSETS / "examples.json").read_text(encoding="utf-8"))
SENTENCES = (ASSETS / "sentences.txt").read_text(encoding="utf-8").splitlines()


# Sentences in which "it" stands for a noun whose German pronoun is "er" or "sie", not "es".
NOT_ES = [
    "The animal didn't cross the street because it was too wide.",
    "The trophy didn't fit into the suitcase because it was too big.",
    "The dog didn't drink the milk because it was sour.",
    "The dog didn't cross the street because it was too tired.",
    "The boy didn't cross the street because it was too wide.",
    "I bought a lamp because it was cheap.",
    "The bridge is closed because it is too old.",
    "The cat ran away because it was afraid.",
    "The bag is heavy because it is full of books.",
]


def hints(text):
    return unusual_spelling(text) or describe_likely_errors(text)


@pytest.mark.parametrize("text", EXAMPLES)
def test_example_sentences_get_no_hint(text):
    assert hints(text) == []


def test_ordinary_english_is_never_taken_for_another_language():
    assert not [text for text in SENTENCES if any("English" in hint for hint in hints(text))]


@pytest.mark.parametrize(
    ("text", "named", "folder"),
    [
        ("Der Hund ist nicht im Garten.", "German", "de-en"),
        ("Je ne sais pas.", "French", "fr-en"),
        ("El perro no es muy grande.", "Spanish", "es-en"),
        ("La casa non è una scuola.", "Italian", "it-en"),
        ("שלום עולם", "Hebrew", "mul-en"),
        ("日本語の文", "Japanese", "ja-en"),
        ("我有一个梦想。", "Chinese", "zh-en"),
        ("Привет, как дела?", "Russian", "ru-en"),
        ("Привіт, як справи?", "Ukrainian", "uk-en"),
    ],
)
def test_hint_names_the_language_and_a_model_that_translates_it(text, named, folder):
    (hint,) = hints(text)
    assert f"looks like {named}" in hint and f"import Helsinki-NLP/opus-mt-{folder} --output models/{folder}`" in hint


@pytest.mark.parametrize("text", ["la un el per un la", "Հայաստան"])
def test_hint_does_not_name_an_unknown_language(text):
    (hint,) = hints(text)
    assert "doesn't look like English" in hint


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("I HAVE A DREAM.", "capitals"),
        ("She met Obama yesterday.", "names"),
        ("She met James.", "names"),
        ("We sold 14 cars.", "numbers"),
        (" ".join(["word"] * (USUAL_WORDS + 1)), f"{USUAL_WORDS + 1} words"),
    ],
)
def test_hint_names_features_that_are_rare_in_the_training_data(text, word):
    (hint,) = hints(text)
    assert word in hint


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("See you soon 👋", "👋"),
        ("Happy birthday 🎉🎂!", "🎉🎂"),
        ("I love you ❤️", "❤️"),
        ("👍 or 👎, 👍", "👍, 👎"),
        ("🙂 a 🙃 b 😀 c 😎", "🙂, 🙃, 😀, …"),
        ("漢" * 30, "漢" * 24 + "…"),
    ],
)
def test_hint_names_characters_without_a_token(shipped, text, named):
    (warning,) = unknown_characters(text, shipped.tokenizer.encode_source(text), shipped.translate(text).text)
    assert f"no token for {named}. " in warning


def test_characters_copied_into_the_translation_cause_no_hint(shipped):
    tokens = shipped.tokenizer.encode_source("I see 🙂.")
    assert unknown_characters("I see 🙂.", tokens, "Ich sehe 🙂.") == []
    assert not [text for text in SENTENCES if unknown_characters(text, shipped.tokenizer.encode_source(text), "")]


def test_hints_about_mistranslated_examples_match_the_shipped_model(shipped):
    for text, wrong in MISTAKES:
        translation = shipped.translate(text).text
        assert text in EXAMPLES and wrong in translation
        assert known_remarks(MISTAKES, text, translation) == [MISTAKES[text, wrong]]
        assert known_remarks(MISTAKES, text, "") == []
    for text, right in LUCKY:
        assert text in EXAMPLES
        assert known_remarks(LUCKY, text, shipped.translate(text).text) == [LUCKY[text, right]]
    for text in NOT_ES:
        assert "weil es " in shipped.translate(text).text, text


def test_stated_limit_of_about_100_words_matches_ordinary_english(shipped):
    tokens = sum(len(shipped.tokenizer.encode_ids(text, end=False)) for text in SENTENCES)
    words = sum(len(text.split()) for text in SENTENCES)
    assert round(MAX_TOKENS * words / tokens, -2) == 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("asdf qwer zxcv", ["asdf", "zxcv"]),
        ("She likes photosynthesis.", ["photosynthesis"]),
        ("a" * 90, ["a" * 24 + "…"]),
        ("<b>supercalifragilistic</b>!", ["b>supercalifragilistic</…"]),
        ("", []),
        ("🙂 42", []),
    ],
)
def test_words_split_into_many_tokens_count_as_rare(shipped, text, words):
    assert rare_words(text, shipped.tokenizer.encode_source(text)) == words


def test_no_word_of_ordinary_english_is_rare(shipped):
    assert not [text for text in [*EXAMPLES, *SENTENCES] if rare_words(text, shipped.tokenizer.encode_source(text))]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "🙂",
        "OK",
        "I am. You are.",
        "Yes, I'm German.",
        "I left on Monday.",
        "My students asked whether the old library near the river is open on Sundays .",
        "We read last Sunday's paper.",
        "Both Sundays’ papers were dull.",
        "She remembers cold Decembers.",
    ],
)
def test_ordinary_text_gets_no_hint(text):
    assert hints(text) == []


def test_hints_do_not_quote_the_text():
    assert not [hint for hint in hints("Der <b>Hund</b> ist nicht " * 9) if "<b>" in hint or "Hund" in hint]
