"""Hints about possible errors in a translation by the built-in model."""

import re
from collections.abc import Mapping, Sequence

from pages.ui.text.markup import markdown
from pages.ui.text.written_language import foreign_language, is_not_english, words_of
from transformer.analysis.words import word_groups
from transformer.checkpoints.available_models import model_folders
from transformer.checkpoints.hub_models import model_for
from transformer.text.languages import language
from transformer.text.vocabulary import BYTE
from transformer.values.tokens import Token

# 99% of the held-out sentences have at most this many words (assets/models/en-de/README.md).
USUAL_WORDS = 20
# A word counts as rare if it is split into at least this many tokens with letters. Every word in assets/sentences.txt
# is split into fewer.
MANY_TOKENS = 3
# Maximum number of words that a hint names, and the maximum length of each, in characters.
MAX_NAMED, LONGEST_NAMED = 3, 24
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


# Explanations of known errors, keyed by example sentence and by the words in its translation that reveal the error.
MISTAKES = {
    ("The animal didn't cross the street because it was too wide.", "weil es"): "“es” is wrong here: “it” refers to "
    "the street, *die Straße*, so the German word is “sie”. This model writes “es” for “it”, whichever noun is meant."
}
# Notes on translations that are right only by luck, keyed by example sentence and by the words that are right.
LUCKY = {
    (
        "The animal didn't cross the street because it was too tired.",
        "weil es",
    ): "“es” fits *das Tier*, but this model writes “es” whichever noun “it” means: try “too wide”."
}
INNER_CAPITALS = re.compile(r"(?<=[^.!?…:\"“”\s])\s+([A-ZÀ-Þ][\w’'-]+)")
# Endings to ignore when a word is looked up in CAPITALISED, as in "Sunday's" and "Sundays".
ENDING = re.compile(r"(?:['’]s|s['’]?)$")
# Common words that always begin with a capital letter.
CAPITALISED = words_of("""
    I I'm I've I'll I'd I’m I’ve I’ll I’d English German Germany England Monday Tuesday Wednesday Thursday
    Friday Saturday Sunday January February March April May June July August September October November December
""")


def unknown_characters(text: str, tokens: Sequence[Token], translation: str) -> list[str]:
    """Return a Markdown warning, in a list, if the translation omits characters for which the model has no token.

    Otherwise, return an empty list.

    Args:
        text: the sentence as typed.
        tokens: the sentence's tokens.
        translation: the translation.
    """
    strange = [part for part in _unknown_parts(text, tokens) if part not in translation]
    if not strange:
        return []
    quoted_parts = ", ".join(markdown(_shorten(part)) for part in strange[:MAX_NAMED])
    more = ", …" if len(strange) > MAX_NAMED else ""
    return [
        f"The model has no token for {quoted_parts}{more}. The translation leaves out such characters or puts "
        "something else in their place. Try the sentence without them."
    ]


def _unknown_parts(text: str, tokens: Sequence[Token]) -> list[str]:
    """Return the distinct parts of a text that the model reads as bytes or as its unknown token."""
    parts: list[tuple[int, int]] = []
    for token in tokens:
        if token.span and (BYTE.fullmatch(token.text) or token.role == "unknown"):
            start, end = token.span
            # All byte tokens of a character share that character's span. Spans that touch, such as those of
            # an emoji's characters, are merged into one part.
            if parts and start <= parts[-1][1]:
                parts[-1] = parts[-1][0], max(end, parts[-1][1])
            else:
                parts.append((start, end))
    return list(dict.fromkeys(part for start, end in parts if (part := text[start:end])))


def unusual_spelling(text: str) -> list[str]:
    """Return a Markdown warning if a text does not look like the ordinary English that the built-in model reads."""
    words, letters = _words_and_letters(text)
    if is_not_english(words, letters):
        return [_describe_language(foreign_language(words, letters))]
    if len(letters) > 3 and all(letter.isupper() for letter in letters):
        return ["The model was trained on ordinary spelling, so do not write the whole sentence in capitals."]
    return []


def _describe_language(code: str) -> str:
    """Return Markdown advice for a text in another language; `code` is empty if the language is unknown."""
    if not code:
        return "This doesn't look like English, and this model reads only English."
    name = language(code).name
    own = next((each for each in model_folders().values() if each.languages.source.name == name), None)
    if own and not own.problem:
        return (
            f"This looks like {name}, but this model reads only English. For {own.languages}, choose "
            f"{markdown(own.name)} in the menu beside the sentence."
        )
    add = model_for(code)
    return (
        f"This looks like {name}, but this model reads only English. `{add.command}` adds a model for "
        f"{name} → English, which needs {add.requirements}. Then choose the model in the menu beside the sentence."
    )


def known_remarks(remarks: Mapping[tuple[str, str], str], text: str, translation: str) -> list[str]:
    """Return the Markdown remarks on the built-in model's translation of a sentence; may be empty.

    Args:
        remarks: MISTAKES or LUCKY.
        text: the sentence as typed.
        translation: the translation.
    """
    return [remark for (example, words), remark in remarks.items() if text == example and words in translation]


def describe_likely_errors(text: str) -> list[str]:
    """Return Markdown hints about errors that the built-in model is likely to make in a sentence; may be empty."""
    words, _ = _words_and_letters(text)
    hints = []
    if re.search(r"\d", text) or any(map(_is_name, INNER_CAPITALS.findall(text))):
        hints.append("The model often gets names and numbers wrong.")
    if len(words) > USUAL_WORDS:
        hints.append(
            f"The sentence has {len(words)} words. Nearly all sentences that the model learned from have at most "
            f"{USUAL_WORDS}, so expect mistakes."
        )
    return hints


def _words_and_letters(text: str) -> tuple[list[str], list[str]]:
    return WORD.findall(text), [character for character in text if character.isalpha()]


def _is_name(word: str) -> bool:
    """Return whether a capitalised word may be a name. The words in CAPITALISED do not count as names."""
    return not {word, ENDING.sub("", word)} & CAPITALISED


def rare_words(text: str, tokens: Sequence[Token]) -> list[str]:
    """Return up to MAX_NAMED rare words, which the model splits into many tokens; long words are shortened.

    Args:
        text: the sentence as typed.
        tokens: the sentence's tokens.
    """
    words = []
    for group in word_groups(tokens, text):
        spans = [tokens[position].span for position in group]
        letter_spans = [span for span in spans if span and any(map(str.isalpha, text[slice(*span)]))]
        if len(letter_spans) >= MANY_TOKENS:
            word = text[letter_spans[0][0] : letter_spans[-1][1]]
            words.append(_shorten(word))
    return list(dict.fromkeys(words))[:MAX_NAMED]


def _shorten(word: str) -> str:
    return word if len(word) <= LONGEST_NAMED else f"{word[:LONGEST_NAMED]}…"
