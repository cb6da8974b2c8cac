"""Readers' text, shown as itself wherever markup is understood."""

from __future__ import annotations

import re
from collections.abc import Sequence

from transformer.tokenizer import END, PAD, SPACE_MARK, START, Piece, Tokenizer

VISIBLE_SPACE = "␣"
BYTE = re.compile("<0x[0-9A-F]{2}>")
NAMES = {PAD: "<pad> padding", START: "<s> start", END: "</s> end"}
PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# What becomes something else even when its punctuation is escaped: links, arrows, dashes, signs and icons. A word
# joiner, which has no width, after the first character prevents it.
REPLACED = re.compile(r"(?=://|@|www|<-|->|--|<=|>=|~=|:material|:streamlit).", re.IGNORECASE)
WORD_JOINER = "\u2060"


def markdown(text: str) -> str:
    """Markdown that shows `text` itself: no emphasis, links, formulas, emoji codes, arrows, colours or HTML."""
    kept = REPLACED.sub(lambda match: match[0] + WORD_JOINER, " ".join(text.split()))
    return PUNCTUATION.sub(r"\\\1", kept)


def piece_label(piece: Piece, text: str) -> str:
    """A piece as people see it: a space before it is visible, special pieces are named, bytes show their character.

    Args:
        piece: of the vocabulary.
        text: what its span refers to.
    """
    if piece.special:
        return NAMES[piece.id]
    if BYTE.fullmatch(piece.text) and piece.span is not None:
        return f"{text[slice(*piece.span)]} {piece.text}"
    return piece.text.replace(SPACE_MARK, VISIBLE_SPACE)


def entry_label(tokenizer: Tokenizer, piece: int) -> str:
    """A piece of the vocabulary that stands in no text, as people see it."""
    return NAMES.get(piece) or tokenizer.texts[piece].replace(SPACE_MARK, VISIBLE_SPACE)


def group_label(pieces: Sequence[Piece], text: str, *, words: bool) -> str:
    """A piece, or for words the characters of `text` that its pieces cover."""
    if not words or pieces[0].special:
        return piece_label(pieces[0], text)
    spans = [piece.span for piece in pieces if piece.span is not None]
    return text[spans[0][0] : spans[-1][1]] or VISIBLE_SPACE
