"""Makes untrusted model cards safe for a page."""

from __future__ import annotations

import re

# Size limit of a card, because every run of a page reads it again.
MAX_BYTES = 200_000
CUT = f"\n\n*The card goes on: only its first {MAX_BYTES // 1000} kB are shown.*"
# No part of the pattern crosses the bracket that the next image may begin with. Otherwise a search from each of many
# beginnings to the end of the card would take minutes.
IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^)\[]*\)|\[[^\[\]]*\])?")
TAG = re.compile(r"<[^<>]*>")
# A paragraph that begins with words in bold is a section with that title, but not within code.
SECTION_OR_FENCE = re.compile(r"^\*\*([^*\n]+)\*\*|```", re.MULTILINE)


def shortened(beginning: str, whole: bool) -> str:
    """The beginning of a card, with a note if it is not the whole card."""
    return beginning if whole else beginning + CUT


def without_media(card: str) -> str:
    """The Markdown of a card without images, which a page would fetch from elsewhere, and without HTML."""
    # Removing the image from `!![](x)[alt](address)` leaves another image; an escaped bracket begins none.
    return TAG.sub("", IMAGE.sub(r"\1", card)).replace("![", r"!\[")


def folded(card: str, longest: int) -> list[tuple[str, str]]:
    """A card in parts, in their order, which together are the card: the title of each, and its Markdown.

    A section of more than `longest` characters is a part with its title; what stands between two such parts has none.
    """
    starts, titles, in_code = [0], [""], False
    for match in SECTION_OR_FENCE.finditer(card):
        if match[1] is None:
            in_code = not in_code
        elif not in_code:
            starts.append(match.start())
            titles.append(match[1].rstrip(".:"))
    parts: list[tuple[str, int, int]] = []
    for title, start, end in zip(titles, starts, [*starts[1:], len(card)], strict=True):
        if title and end - start > longest:
            parts.append((title, start, end))
        elif parts and not parts[-1][0]:
            parts[-1] = ("", parts[-1][1], end)
        elif start < end:
            parts.append(("", start, end))
    return [(title, card[start:end]) for title, start, end in parts]
