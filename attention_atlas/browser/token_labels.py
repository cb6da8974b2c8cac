"""Labels of tokens and words: white space is visible, and no label reverses the text next to it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from transformer.text.vocabulary import LINE_SIGNS, SIGNS, TextVocabulary, is_visible, label_parts
from transformer.values.tokens import Token

BEFORE_WORD = re.compile(rf"^[{''.join(SIGNS.values())}]+(?=\S)")
# Unicode's isolate marks. The first letter of the enclosed text decides its direction, whatever is around it.
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
# Invisible characters that can reverse the text after them: isolates up to their end, embeddings and overrides.
ISOLATES = frozenset("\u2066\u2067\u2068")
BIDI_CONTROLS = ISOLATES | frozenset("\u2069\u202a\u202b\u202c\u202d\u202e")
REPLACEMENT = "\ufffd"
RIGHT_TO_LEFT = frozenset({"R", "AL"})


def isolate(text: str) -> str:
    """Return text isolated for use within a sentence, so that right-to-left text does not reorder the sentence."""
    label = displayable(text)
    backwards = any(unicodedata.bidirectional(each) in RIGHT_TO_LEFT for each in label)
    return f"{ISOLATE}{label}{END_OF_ISOLATE}" if backwards else label


def displayable(text: str) -> str:
    """Return text of the same length for display. A character that would reverse the text next to it becomes U+FFFD.

    An isolate that the text itself closes stays. It reverses nothing outside, and `isolate` creates such isolates.
    """
    if BIDI_CONTROLS.isdisjoint(text):
        return text
    characters, open_isolates = list(text), []
    for position, character in enumerate(text):
        if character in ISOLATES:
            open_isolates.append(position)
        elif character == END_OF_ISOLATE and open_isolates:
            open_isolates.pop()
        elif character in BIDI_CONTROLS:
            characters[position] = REPLACEMENT
    for position in open_isolates:
        characters[position] = REPLACEMENT
    return "".join(characters)


def token_label(token: Token, text: str) -> str:
    """Return the label of a token, from `label_parts`. White space is visible, and special tokens have names. Bytes and
    unknown tokens show the text that they represent.

    Args:
        token: the token.
        text: the text that its span refers to.
    """
    covered, spelling = label_parts(token, text)
    return f"{isolate(covered)} {displayable(spelling)}".lstrip(" ")


def label_without_space(label: str) -> str:
    """Return a label for use within a sentence, without the mark of the white space before it."""
    return BEFORE_WORD.sub("", label)


def entry_label(vocabulary: TextVocabulary, token: int) -> str:
    """Return the label of a vocabulary entry that is not part of a text."""
    return token_label(Token(token, vocabulary.texts[token], None, vocabulary.symbols.role(token)), "")


def group_label(tokens: Sequence[Token], text: str, *, words: bool) -> str:
    """Return the label of a token, or for a word the characters of `text` that its tokens cover."""
    if not words or tokens[0].span is None:
        return token_label(tokens[0], text)
    spans = [token.span for token in tokens if token.span is not None]
    covered = text[spans[0][0] : spans[-1][1]].strip(" ")
    if not any(map(is_visible, covered)):
        return "".join(token_label(token, text) for token in tokens)
    return displayable(covered.translate(str.maketrans(LINE_SIGNS)))
