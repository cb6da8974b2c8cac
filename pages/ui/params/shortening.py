"""Shortens texts that are too long for a URL."""

import re
from collections.abc import Collection, Mapping
from urllib.parse import quote_plus, unquote_plus, urlencode

# Matches an incomplete percent-encoded byte at the end of a truncated text.
INCOMPLETE_BYTE = re.compile(r"%[0-9A-F]?$")


def length(address: Mapping[str, str]) -> int:
    """Return the length of the percent-encoded query string, in characters."""
    return len(urlencode(address, errors="replace"))


def shorten(address: Mapping[str, str], texts: Collection[str], most: int) -> dict[str, str]:
    """Return a copy of a URL's query parameters, with the longest texts cut so that the query string is short enough.

    Args:
        address: the query parameters.
        texts: the names of the parameters that may be cut.
        most: the maximum length of the percent-encoded query string, in characters.

    Returns:
        The query parameters with shortened texts; an empty dictionary if the parameters that must not be cut are too
        long.
    """
    room = most - length({name: "" if name in texts else value for name, value in address.items()})
    if room < 0:
        return {}
    shortest_first = sorted((name for name in address if name in texts), key=lambda name: len(_quoted(address[name])))
    shortened = dict(address)
    for number, name in enumerate(shortest_first):
        # Longer texts share the characters that a short text leaves unused.
        shortened[name] = _beginning(address[name], room // (len(shortest_first) - number))
        room -= len(_quoted(shortened[name]))
    return shortened


def _beginning(text: str, most: int) -> str:
    """Return the longest prefix of a text that takes at most `most` characters when percent-encoded."""
    quoted = _quoted(text)
    if len(quoted) <= most:
        return text
    # "ignore" also drops the remaining bytes of a multi-byte character that was cut.
    return unquote_plus(INCOMPLETE_BYTE.sub("", quoted[:most]), errors="ignore")


def _quoted(text: str) -> str:
    return quote_plus(text, errors="replace")
