"""Makes untrusted model cards safe for a page."""

from __future__ import annotations

import re

# Largest part of a card that is shown, in bytes, because every run of a page reads it again.
MAX_BYTES = 200_000
CUT = f"\n\n*The card goes on: only its first {MAX_BYTES // 1000} kB are shown.*"
# No part of the pattern crosses a bracket that the next image may begin with. Otherwise a card with many beginnings of
# images would be searched from each of them to its end, which would take minutes.
IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^)\[]*\)|\[[^\[\]]*\])?")
TAG = re.compile(r"<[^<>]*>")
# A paragraph that begins with bold words is a section with these words as its title, except within code.
SECTION_OR_FENCE = re.compile(r"^\*\*([^*\n]+)\*\*|```", re.MULTILINE)


def shortened(beginning: str, whole: bool) -> str:
    """The beginning of a card, with a note at its end unless it is the whole card."""
    return beginning if whole else beginning + CUT


def without_media(card: str) -> str:
    """Remove HTML and images from a card in Markdown. A page would fetch the images from elsewhere."""
    # Removing the image from `!![](x)[alt](address)` leaves another image. An escaped bracket does not begin an image.
    return TAG.sub("", IMAGE.sub(r"\1", card)).replace("![", r"!\[")


def folded(card: str, longest: int) -> list[tuple[str, str]]:
    """Split a card into parts and return the title and the Markdown of each, in order.

    A section of more than `longest` characters becomes a part with its title. The text between two such parts becomes a
    part without a title. All parts together are the whole card.
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
