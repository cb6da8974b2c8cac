"""Readers' text, shown as itself wherever markup is understood."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from transformer.vocabulary import SPACE_MARK, Piece, TextVocabulary, Vocabulary

VISIBLE_SPACE = "␣"
BYTE = re.compile("<0x[0-9A-F]{2}>")
PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit replaces these even when their punctuation is escaped: links, arrows, dashes, signs and icons. A word
# joiner, which has no width, after the first character prevents it.
REPLACED = re.compile(r"(?=://|@|www|<-|->|--|<=|>=|~=|:material|:streamlit).", re.IGNORECASE)
# Around text whose direction its first letter decides, whatever stands around it.
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
RIGHT_TO_LEFT = frozenset({"R", "AL"})
WORD_JOINER = "\u2060"


def markdown(text: str) -> str:
    """Markdown that shows `text` itself: no emphasis, links, formulas, emoji codes, arrows, colours or HTML.

    What runs from right to left stands by itself, so that its punctuation does not move into the English around it.
    """
    joined = REPLACED.sub(lambda match: match[0] + WORD_JOINER, " ".join(text.split()))
    shown = PUNCTUATION.sub(r"\\\1", joined)
    return isolated(shown)


def isolated(text: str) -> str:
    """Text within a sentence: what runs from right to left reorders neither its punctuation nor its numbers."""
    backwards = any(unicodedata.bidirectional(each) in RIGHT_TO_LEFT for each in text)
    return f"{ISOLATE}{text}{END_OF_ISOLATE}" if backwards else text


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
    return piece.text.replace(SPACE_MARK, VISIBLE_SPACE)


def entry_label(vocabulary: Vocabulary | TextVocabulary, piece: int) -> str:
    """A piece of the vocabulary outside any text, as people see it."""
    return piece_label(Piece(piece, vocabulary.texts[piece], None, vocabulary.symbols.role(piece)), "")


def group_label(pieces: Sequence[Piece], text: str, *, words: bool) -> str:
    """A piece, or for words the characters of `text` that its pieces cover."""
    if not words or pieces[0].special:
        return piece_label(pieces[0], text)
    spans = [piece.span for piece in pieces if piece.span is not None]
    return text[spans[0][0] : spans[-1][1]] or VISIBLE_SPACE
