"""Reads the tokens that were added to a Hugging Face vocabulary after it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer.files.small_files import json_object

TOKENIZER, ADDED = "tokenizer_config.json", "added_tokens.json"
# Keys of the named symbols in tokenizer_config.json.
SYMBOLS = ("bos_token", "eos_token", "unk_token", "pad_token")


@dataclass(frozen=True)
class AddedToken:
    """A token that was added to a vocabulary. A text is searched for it before the rest is split into tokens.

    Attributes:
        content: text of the token.
        special: whether it is a symbol; typed text never becomes a symbol.
        single_word: whether it is found only where no letter, digit or underscore is next to it.
        lstrip, rstrip: whether it includes the white space before it, and after it.
        normalized: whether it is searched for later, after the tokens without this flag.
    """

    content: str
    special: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True


def read_added(files: Mapping[str, bytes]) -> dict[int, AddedToken]:
    """Read the added tokens of a vocabulary by id, from tokenizer_config.json or added_tokens.json.

    Raises:
        ValueError: one of the two files is damaged; the message names it.
    """
    settings = json_object(files.get(TOKENIZER, b"{}"), TOKENIZER)
    described = settings.get("added_tokens_decoder")
    if isinstance(described, dict):
        return dict(
            read_token(each, int(number) if number.isdecimal() else None, TOKENIZER)
            for number, each in described.items()
        )
    special = set(named_symbols(settings).values())
    return dict(
        read_token({"content": text, "special": text in special, "normalized": text not in special}, number, ADDED)
        for text, number in json_object(files.get(ADDED, b"{}"), ADDED).items()
    )


def read_token(values: object, number: object, name: str) -> tuple[int, AddedToken]:
    """Read an added token and its id from the values in a file.

    Raises:
        ValueError: the values have the wrong types; the message contains the file's name.
    """
    flags = ("special", "single_word", "lstrip", "rstrip", "normalized")
    if (
        not isinstance(values, dict)
        or type(number) is not int
        or number < 0
        or not isinstance(values.get("content"), str)
        or not values["content"]
        or any(type(values.get(flag, False)) is not bool for flag in flags)
    ):
        raise ValueError(
            f"{name} has an added token without a text or an integer id, or with a flag that is not true or false"
        )
    given = {flag: values[flag] for flag in flags if flag in values}
    return number, AddedToken(values["content"], **given)


def named_symbols(settings: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the symbols in a tokenizer's settings, by name; a value is a text or an object with its content."""
    symbols = {}
    for name in SYMBOLS:
        value = settings.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str) and text:
            symbols[name] = text
    return symbols
