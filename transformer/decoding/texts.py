"""Validates the source and target texts given to a model, and converts them to tokens."""

import re
from collections.abc import Collection, Sequence
from typing import Literal

from transformer.decoding.constraints import Constraints
from transformer.errors import TextError
from transformer.text.languages import Languages, language
from transformer.text.normalisation import replace_surrogates
from transformer.text.vocabulary import TextVocabulary, Vocabulary, split_code, start_token
from transformer.values.tokens import Token

# Maximum number of tokens in a source or target text, without the end symbol.
MAX_TOKENS = 128
MAX_CHARACTERS = 10_000
# Messages for an empty text.
WANTED = {"source": "Type a sentence to translate.", "target": "Type the translation that the model should read."}
# REQUESTED_CODE matches a target language code, as in ">>fra<<", and SOURCE_CODE a source language code, as in
# "<<eng>>". UNSUPPORTED_CODE is used for models without language codes. It is stricter, because a text may begin with a
# word in quotation marks, such as ">>Ja<<".
REQUESTED_CODE = re.compile(r"\s*>>([A-Za-z][A-Za-z0-9_-]{0,31})<<")
SOURCE_CODE = re.compile(r"\s*<<([A-Za-z][A-Za-z0-9_-]{0,31})>>")
UNSUPPORTED_CODE = re.compile(r"\s*>>([a-z]{2,3}(?:[_-][A-Za-z]{2,8})?)<<")


def source_text(text: str, codes: Collection[str], languages: Languages) -> str:
    """Check the language codes at the start of a typed text, and return the text with surrogates replaced.

    Args:
        text: source text as typed.
        codes: language codes that the model supports.
        languages: the model's default languages.

    Raises:
        TextError: the text names a language that the model does not support, or several source or target languages.
    """
    text = replace_surrogates(text)
    code, rest = split_code(text, codes)
    if asked := (REQUESTED_CODE if codes else UNSUPPORTED_CODE).match(rest):
        second = f">>{asked[1]}<<"
        if second in codes:
            raise TextError(f"The text names two languages, {code} and {second}: leave out one of them.")
        raise not_written(asked[1], codes, languages)
    if any(code.startswith("<<") for code in codes) and (asked := SOURCE_CODE.match(rest)):
        second = f"<<{asked[1]}>>"
        if second in codes:
            raise TextError(f"The text names two source languages: leave out {second}.")
        raise TextError(f"The model does not translate from {asked[1]}: leave out {second}.")
    return text


def not_written(code: str, codes: Collection[str], languages: Languages) -> TextError:
    """Return the error for a requested target language that the model does not support.

    Args:
        code: requested language code, without brackets.
        codes: language codes that the model supports.
        languages: the model's default languages.
    """
    if not codes and language(code).name == languages.target.name:
        return TextError(
            f"The model writes only {languages.target.name} and accepts no language code: leave out {code}."
        )
    targets = ", ".join(each[2:-2] for each in codes if each.startswith(">>")) or languages.target.name
    return TextError(f"The model does not translate into {code}, only into {targets}: change or leave out the code.")


def text_tokens(vocabulary: Vocabulary, text: str, side: Literal["source", "target"]) -> tuple[Token, ...]:
    """Tokenize a text and append the end symbol.

    Raises:
        TextError: the text is empty or too long.
    """
    if len(text) > MAX_CHARACTERS:
        raise TextError(
            f"This text is too long: it has {len(text):,} characters, but may have at most {MAX_CHARACTERS:,}, and "
            f"at most {MAX_TOKENS} tokens. Shorten the text to a sentence or two."
        )
    tokens = vocabulary.encode_source(text) if side == "source" else vocabulary.encode(text, end=True)
    if all(token.special for token in tokens):
        raise TextError(WANTED[side])
    if len(tokens) - 1 > MAX_TOKENS:
        raise TextError(
            f"This text is too long: {len(tokens) - 1:,} tokens, but the limit is {MAX_TOKENS}. Shorten the text to a "
            "sentence or two."
        )
    return tokens


def given_target(vocabulary: Vocabulary, target: str | Sequence[int], text: str) -> tuple[str, tuple[Token, ...]]:
    """Return the text and tokens of a translation given as text or as token ids.

    Some models require every translation to begin with certain tokens, such as a language code. These tokens may depend
    on the source `text`. They are put before a translation that is given as text.

    Raises:
        TextError: the translation is empty or too long.
        ValueError: an id is not in the vocabulary.
    """
    if isinstance(target, str):
        target = replace_surrogates(target)
        return target, (*vocabulary.tokens(vocabulary.begin(text)), *text_tokens(vocabulary, target, "target"))
    ids = list(target)
    if not 0 < len(ids) <= MAX_TOKENS + 1:
        raise TextError(
            f"A translation must have 1 to {MAX_TOKENS + 1} tokens, including the end symbol, not {len(ids)}."
        )
    Constraints(tuple(ids)).check(vocabulary.size, len(ids))
    return vocabulary.decode(ids), vocabulary.tokens(ids)


def shifted_right(vocabulary: TextVocabulary, predicted: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the decoder input for predicting `predicted`: the start symbol, then all tokens but the last."""
    return (start_token(vocabulary), *predicted[:-1])
