"""Texts that are too long for an address. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import quote_plus, unquote_plus, urlencode

# A percent sign whose digits were cut off.
BROKEN = re.compile(r"%[0-9A-F]?$")


def length(address: Mapping[str, str]) -> int:
    """Characters of the parameters of an address, percent signs and all."""
    return len(urlencode(address, errors="replace"))


def cut(address: Mapping[str, str], texts: Collection[str], most: int) -> dict[str, str]:
    """The same with the ends of texts cut off, the longest first, so that it has at most so many characters.

    Args:
        texts: names of parameters that hold text; the others stay whole.

    Returns:
        Nothing where the others alone are too long.
    """
    room = most - length({name: "" if name in texts else value for name, value in address.items()})
    if room < 0:
        return {}
    shortest_first = sorted((name for name in address if name in texts), key=lambda name: len(_quoted(address[name])))
    left = dict(address)
    for number, name in enumerate(shortest_first):
        # What a short text does not need is the others'.
        left[name] = _beginning(address[name], room // (len(shortest_first) - number))
        room -= len(_quoted(left[name]))
    return left


def _beginning(text: str, most: int) -> str:
    """As much of a text as takes so many characters of an address."""
    quoted = _quoted(text)
    if len(quoted) <= most:
        return text
    # What is left of a character of several bytes goes too.
    return unquote_plus(BROKEN.sub("", quoted[:most]), errors="ignore")


def _quoted(text: str) -> str:
    return quote_plus(text, errors="replace")
