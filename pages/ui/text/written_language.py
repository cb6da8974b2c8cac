"""Detects the language of a text from its script and its function words."""

import unicodedata
from collections import Counter
from collections.abc import Sequence


def words_of(listed: str) -> frozenset[str]:
    """Return the set of words in a space-separated list."""
    return frozenset(listed.split())


# The most frequent function words of English and of the languages that users are most likely to try. Foreign words that
# are also English words ("die", "war", "in") are left out.
ENGLISH = words_of("""
    the a an i you he she it we they is are was were am be been do does did don't didn't not to of and or in on
    at for with this that my your his her our their what who where when why how have has had will would can
    could should
""")
OTHER_LANGUAGES = {
    "de": """
        der das und ist nicht ich ein eine einen wir sie er es mit auf für von zu dem den sich auch aber wie haben habe
    """,
    "fr": "le la les un une des est et je tu il elle nous vous ne pas que qui dans avec mon ma",
    "es": "el los la las una un es y yo no se que con por para muy mi",
    "it": "il lo la gli le un una è e di che non sono con per",
    "nl": "de het een en ik je niet van is dat",
    "pl": "jest nie się na to jak z",
}
FUNCTION_WORDS = {code: words_of(words) - ENGLISH for code, words in OTHER_LANGUAGES.items()}
# Maps the first word of a letter's Unicode name to a language code. A script shared by several languages maps to the
# most common one.
SCRIPTS = {
    "CJK": "zh",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "CYRILLIC": "ru",
    "ARABIC": "ar",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "GREEK": "el",
    "HEBREW": "he",
    "THAI": "th",
}
# Letters that distinguish a language from the most common language of its script.
LETTERS = {"uk": "іїєґ", "ur": "ٹڈڑںےھہ"}


def is_not_english(words: Sequence[str], letters: Sequence[str]) -> bool:
    """Return whether a text is mostly in a non-Latin script or in a foreign language.

    A text counts as foreign if it has at least two foreign function words, and more of them than English ones.
    """
    if not letters:
        return False
    if _scripts(letters)["LATIN"] < len(letters) / 2:
        return True
    lower = _lower(words)
    english, other = (
        sum(word in known for word in lower) for known in (ENGLISH, frozenset().union(*FUNCTION_WORDS.values()))
    )
    return other >= 2 and other > english


def foreign_language(words: Sequence[str], letters: Sequence[str]) -> str:
    """Return the language code of a text that is not English; empty if the language is not recognised.

    Args:
        words, letters: the text's words and letters.
    """
    scripts = _scripts(letters)
    if scripts["LATIN"] >= len(letters) / 2:
        counts = {code: sum(word in known for word in _lower(words)) for code, known in FUNCTION_WORDS.items()}
        first, second = sorted(counts.values())[:-3:-1]
        # A tie is inconclusive, because words such as "la" belong to several languages.
        return max(counts, key=lambda code: counts[code]) if first > second else ""
    if scripts["HIRAGANA"] + scripts["KATAKANA"]:
        # Check for Japanese before Chinese, because Japanese text also contains Chinese characters.
        return "ja"
    for code, letters_of_language in LETTERS.items():
        if set(letters_of_language) & set("".join(letters).lower()):
            return code
    script, _ = scripts.most_common(1)[0]
    return SCRIPTS.get(script, "")


def _scripts(letters: Sequence[str]) -> Counter[str]:
    return Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower().replace("’", "'") for word in words]
