"""Shortens texts that are too long for an address. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from urllib.parse import quote_plus, unquote_plus, urlencode

# Matches a percent-encoded character whose digits were cut off.
BROKEN = re.compile(r"%[0-9A-F]?$")


def length(address: Mapping[str, str]) -> int:
    """Return the length in characters of an address's parameters, percent-encoded."""
    return len(urlencode(address, errors="replace"))


def cut(address: Mapping[str, str], texts: Collection[str], most: int) -> dict[str, str]:
    """Return a copy that has at most this many characters, with the ends of its longest texts cut off.

    Args:
        texts: the names of the parameters that may be cut.

    Returns:
        An empty dictionary if the other parameters alone are too long.
    """
    room = most - length({name: "" if name in texts else value for name, value in address.items()})
    if room < 0:
        return {}
    shortest_first = sorted((name for name in address if name in texts), key=lambda name: len(_quoted(address[name])))
    left = dict(address)
    for number, name in enumerate(shortest_first):
        # Characters that a short text does not need are left to the longer ones.
        left[name] = _beginning(address[name], room // (len(shortest_first) - number))
        room -= len(_quoted(left[name]))
    return left


def _beginning(text: str, most: int) -> str:
    """Return the longest prefix of a text that takes at most this many characters in an address."""
    quoted = _quoted(text)
    if len(quoted) <= most:
        return text
    # Ignoring errors also removes the incomplete bytes of a multi-byte character that was cut.
    return unquote_plus(BROKEN.sub("", quoted[:most]), errors="ignore")


def _quoted(text: str) -> str:
    return quote_plus(text, errors="replace")
