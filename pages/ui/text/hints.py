"""What a reader should know of a sentence before its translation is taken seriously. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from transformer.analysis.words import word_groups
from transformer.text.vocabulary import Piece

# Of the held-out sentences, 99 % have at most this many words (assets/models/en-de/README.md).
USUAL_WORDS = 20
# No sentence of assets/sentences.txt has a word that is cut into so many pieces with letters.
MANY_PIECES = 3
# Words that are named, and characters of each.
MOST_NAMED, LONGEST_NAMED = 3, 24
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# The most frequent little words of English, and of languages that people try first; words that English has as well
# ("die", "war", "in") are left out.
ENGLISH = _words("""
    the a an i you he she it we they is are was were am be been do does did don't didn't not to of and or in on
    at for with this that my your his her our their what who where when why how have has had will would can
    could should
""")
OTHER = _words("""
    der das und ist nicht ich ein eine einen wir sie er es mit auf für von zu dem den sich auch aber wie haben
    habe le la les un une des est et je tu il elle nous vous ne pas que qui dans avec mon ma el los las una es y
    yo no se que con por para muy mi lo gli è di che non sono il de het een en ik niet van dat jest nie
""")
INNER_CAPITALS = re.compile(r"(?<=[^.!?…:\"“”\s])\s+([A-ZÀ-Þ][\w’'-]+)")
# What a name and a day have in common: "Sunday's", "Sundays".
ENDING = re.compile(r"(?:['’]s|s['’]?)$")
# Written with a capital letter in any sentence, and well known.
CAPITALISED = _words("""
    I I'm I've I'll I'd I’m I’ve I’ll I’d English German Germany England Monday Tuesday Wednesday Thursday
    Friday Saturday Sunday January February March April May June July August September October November December
""")


def hints(text: str, *, cautioned: bool = False) -> list[str]:
    """One short sentence for everything in a text that the model has hardly met.

    Args:
        text: what was typed; it is not part of any hint.
        cautioned: that names and numbers are often wrong is said already.
    """
    words = WORD.findall(text)
    letters = [character for character in text if character.isalpha()]
    found = []
    if not_english(words, letters):
        found.append("This does not look like English, the only language that the model reads.")
    elif len(letters) > 3 and all(letter.isupper() for letter in letters):
        found.append("The model learned from ordinary spelling: try the sentence without the capitals.")
    elif not cautioned and (re.search(r"\d", text) or any(map(_is_name, INNER_CAPITALS.findall(text)))):
        found.append("The model often gets names and numbers wrong.")
    if len(words) > USUAL_WORDS:
        found.append(
            f"{len(words)} words are more than nearly all sentences that the model learned from have (up to "
            f"{USUAL_WORDS}): expect mistakes."
        )
    return found


def _is_name(word: str) -> bool:
    """Whether a word with a capital letter within a sentence is none of those that always have one."""
    return not {word, ENDING.sub("", word)} & CAPITALISED


def rare_words(text: str, pieces: Sequence[Piece]) -> list[str]:
    """The first words of a text that the model has hardly met, because it reads them in many pieces; long ones cut off.

    Args:
        text: what was typed.
        pieces: of it.
    """
    found = []
    for group in word_groups(pieces):
        spans = [pieces[position].span for position in group]
        spelt = [span for span in spans if span and any(map(str.isalpha, text[slice(*span)]))]
        if len(spelt) >= MANY_PIECES:
            word = text[spelt[0][0]:spelt[-1][1]]
            found.append(word if len(word) <= LONGEST_NAMED else f"{word[:LONGEST_NAMED]}…")
    return list(dict.fromkeys(found))[:MOST_NAMED]


def not_english(words: list[str], letters: list[str]) -> bool:
    """Whether a text is in another script, or has the little words of another language."""
    if not letters:
        return False
    latin = sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    if latin < len(letters) / 2:
        return True
    lower = [word.lower().replace("’", "'") for word in words]
    english, other = (sum(word in known for word in lower) for known in (ENGLISH, OTHER))
    return other >= 2 and other > english
