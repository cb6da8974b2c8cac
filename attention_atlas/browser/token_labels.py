"""Labels for tokens and words, with visible white space, and without characters that would reverse nearby text."""

import re
import unicodedata
from collections.abc import Sequence

from transformer.text.vocabulary import LINE_SIGNS, SIGNS, TextVocabulary, is_visible, label_parts
from transformer.values.tokens import Token

BEFORE_WORD = re.compile(rf"^[{''.join(SIGNS.values())}]+(?=\S)")
# Unicode's isolate characters. The first strong character between them sets the direction of the enclosed text,
# independently of the text around it.
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
# Invisible characters that set the direction of the text after them. BIDI_CONTROLS contains isolates, embeddings,
# overrides, and the characters that close these.
ISOLATES = frozenset("\u2066\u2067\u2068")
BIDI_CONTROLS = ISOLATES | frozenset("\u2069\u202a\u202b\u202c\u202d\u202e")
REPLACEMENT = "\ufffd"
RIGHT_TO_LEFT = frozenset({"R", "AL"})


def isolate(text: str) -> str:
    """Return text for use within a sentence; isolate right-to-left text so that it does not reorder the sentence."""
    label = displayable(text)
    backwards = any(unicodedata.bidirectional(each) in RIGHT_TO_LEFT for each in label)
    return f"{ISOLATE}{label}{END_OF_ISOLATE}" if backwards else label


def displayable(text: str) -> str:
    """Return the text for display; each character that could reverse neighbouring text is replaced by U+FFFD.

    Unicode isolates that are closed within the text are kept, because they cannot reverse the text outside. The
    function `isolate` adds them.
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
    """Return a token's label, based on `label_parts`; white space is visible, and special tokens have names.

    Byte tokens and unknown tokens are labelled with the text that they represent.

    Args:
        token: token to label.
        text: text that the token's span refers to.
    """
    covered, spelling = label_parts(token, text)
    return f"{isolate(covered)} {displayable(spelling)}".lstrip(" ")


def label_without_space(label: str) -> str:
    """Return a label for use within a sentence, without the mark for a preceding space."""
    return BEFORE_WORD.sub("", label)


def entry_label(vocabulary: TextVocabulary, token: int) -> str:
    """Return the label of a vocabulary entry that is not part of a text."""
    return token_label(Token(token, vocabulary.texts[token], None, vocabulary.symbols.role(token)), "")


def group_label(tokens: Sequence[Token], text: str, *, words: bool) -> str:
    """Return the label of a group's only token or, with `words`, the characters of `text` that the group covers."""
    if not words or tokens[0].span is None:
        return token_label(tokens[0], text)
    spans = [token.span for token in tokens if token.span is not None]
    covered = text[spans[0][0] : spans[-1][1]].strip(" ")
    if not any(map(is_visible, covered)):
        return "".join(token_label(token, text) for token in tokens)
    return displayable(covered.translate(str.maketrans(LINE_SIGNS)))
