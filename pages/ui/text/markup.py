"""Readers' text, shown as itself wherever markup is understood."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from transformer.text.vocabulary import SPACE_MARK, Piece, TextVocabulary, Vocabulary

VISIBLE_SPACE = "␣"
BYTE = re.compile("<0x[0-9A-F]{2}>")
BEFORE_WORD = re.compile(rf"^{VISIBLE_SPACE}+(?=\S)")
PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit replaces these even when their punctuation is escaped: links, arrows, dashes, signs and icons. A word
# joiner, which has no width, after the first character prevents it.
REPLACED = re.compile(r"(?=://|@|www|<-|->|--|<=|>=|~=|:material|:streamlit).", re.IGNORECASE)
# Around text whose direction its first letter decides, whatever stands around it.
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
# Characters without a shape that turn round what comes after them: isolates up to their end, embeddings and overrides.
ISOLATES = frozenset("\u2066\u2067\u2068")
TURNING = ISOLATES | frozenset("\u2069\u202a\u202b\u202c\u202d\u202e")
REPLACEMENT = "\ufffd"
RIGHT_TO_LEFT = frozenset({"R", "AL"})
WORD_JOINER = "\u2060"


def markdown(text: str) -> str:
    """Markdown that shows `text` itself: no emphasis, links, formulas, emoji codes, arrows, colours or HTML.

    What runs from right to left stands by itself, so that its punctuation does not move into the English around it, and
    no character of it turns that round.
    """
    joined = REPLACED.sub(lambda match: match[0] + WORD_JOINER, " ".join(text.split()))
    shown = PUNCTUATION.sub(r"\\\1", joined)
    return isolated(shown)


def isolated(text: str) -> str:
    """Text within a sentence: what runs from right to left reorders neither its punctuation nor its numbers."""
    shown = visible(text)
    backwards = any(unicodedata.bidirectional(each) in RIGHT_TO_LEFT for each in shown)
    return f"{ISOLATE}{shown}{END_OF_ISOLATE}" if backwards else shown


def visible(text: str) -> str:
    """Text as it is shown, as long as before: a character that would turn round what stands beside it is U+FFFD.

    An isolate that the text itself ends stays: it turns nothing outside, and `isolated` makes such ones.
    """
    if TURNING.isdisjoint(text):
        return text
    shown, begun = list(text), []
    for position, character in enumerate(text):
        if character in ISOLATES:
            begun.append(position)
        elif character == END_OF_ISOLATE and begun:
            begun.pop()
        elif character in TURNING:
            shown[position] = REPLACEMENT
    for position in begun:
        shown[position] = REPLACEMENT
    return "".join(shown)


def piece_label(piece: Piece, text: str) -> str:
    """A piece as people see it: a space before it is visible, special pieces are named, bytes and unknown pieces show
    what they stand for.

    Args:
        piece: of the vocabulary.
        text: what its span refers to.
    """
    if piece.special:
        return f"{piece.text} {piece.role}"
    if piece.span is not None and (BYTE.fullmatch(piece.text) or piece.role == "unknown"):
        return f"{isolated(text[slice(*piece.span)])} {piece.text}"
    return visible(piece.text.replace(SPACE_MARK, VISIBLE_SPACE))


def bare(label: str) -> str:
    """A label within a sentence, where the space before a word needs no mark."""
    return BEFORE_WORD.sub("", label)


def entry_label(vocabulary: Vocabulary | TextVocabulary, piece: int) -> str:
    """A piece of the vocabulary outside any text, as people see it."""
    return piece_label(Piece(piece, vocabulary.texts[piece], None, vocabulary.symbols.role(piece)), "")


def group_label(pieces: Sequence[Piece], text: str, *, words: bool) -> str:
    """A piece, or for words the characters of `text` that its pieces cover."""
    if not words or pieces[0].special:
        return piece_label(pieces[0], text)
    spans = [piece.span for piece in pieces if piece.span is not None]
    return visible(text[spans[0][0] : spans[-1][1]]) or VISIBLE_SPACE
