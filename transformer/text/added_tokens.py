"""Parses the added tokens of a Hugging Face tokenizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer.files.small_files import json_object

TOKENIZER, ADDED = "tokenizer_config.json", "added_tokens.json"
# Keys of special tokens in tokenizer_config.json.
SYMBOLS = ("bos_token", "eos_token", "unk_token", "pad_token")


@dataclass(frozen=True)
class AddedToken:
    """A token added to a trained vocabulary. Added tokens are matched in a text before the rest is tokenized.

    Attributes:
        content: text of the token.
        special: whether the token is a special token; typed text never becomes a special token.
        single_word: whether the token matches only where no letter, digit or underscore is adjacent.
        lstrip, rstrip: whether a match includes the white space on the left or on the right.
        normalized: whether the token is matched only after all tokens without this flag.
    """

    content: str
    special: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True


def read_added(files: Mapping[str, bytes]) -> dict[int, AddedToken]:
    """Return a tokenizer's added tokens by id, from tokenizer_config.json or, if it lists none, added_tokens.json.

    Raises:
        ValueError: one of the two files is damaged or has an invalid entry; the message names the file.
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
    """Validate an added token's JSON values, and return the id and the `AddedToken`.

    Args:
        values: the token's values in the file.
        number: the token's id in the file.
        name: file name, for error messages.

    Raises:
        ValueError: the id or a value is missing or invalid.
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
            f"{name} has an invalid added token (id {number!r}): a token needs a text, a valid id, and flags that are "
            "true or false"
        )
    given = {flag: values[flag] for flag in flags if flag in values}
    return number, AddedToken(values["content"], **given)


def named_symbols(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of the special tokens in a tokenizer's settings, by key, such as "bos_token"."""
    symbols = {}
    for name in SYMBOLS:
        value = settings.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str) and text:
            symbols[name] = text
    return symbols
