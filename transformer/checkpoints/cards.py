"""Sanitises and shortens untrusted model cards before they are shown."""

from __future__ import annotations

import re

# Maximum length of a shown card, in bytes, because every rerun of a page reads the card again.
MAX_BYTES = 200_000
SHORTENED_NOTE = f"\n\n*The card goes on: only its first {MAX_BYTES // 1000} kB are shown.*"
# No part of the pattern matches an opening bracket. Otherwise, matching would take quadratic time, and so minutes, on a
# card with many unclosed images.
IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^)\[]*\)|\[[^\[\]]*\])?")
TAG = re.compile(r"<[^<>]*>")
# A paragraph that begins with bold text starts a section with that text as the title, except within a code block.
SECTION_OR_FENCE = re.compile(r"^\*\*([^*\n]+)\*\*|```", re.MULTILINE)


def add_shortened_note(beginning: str, is_whole: bool) -> str:
    """Append a note to a card that has been cut off.

    Args:
        beginning: the card, or its beginning.
        is_whole: whether `beginning` is the whole card.
    """
    return beginning if is_whole else beginning + SHORTENED_NOTE


def without_media(card: str) -> str:
    """Remove HTML and images from a Markdown card, because browsers would fetch the images from third parties."""
    # Removing the image from `!![](x)[alt](URL)` leaves another image, so escape remaining image brackets.
    return TAG.sub("", IMAGE.sub(r"\1", card)).replace("![", r"!\[")


def card_sections(card: str, longest: int) -> list[tuple[str, str]]:
    """Split a card into consecutive parts, so that long sections can be collapsed; return (title, Markdown) pairs.

    A section of more than `longest` characters becomes a part with a title. The text between such sections becomes a
    part with the title "". The parts concatenated are the whole card.
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
