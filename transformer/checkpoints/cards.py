"""Sanitises and shortens untrusted model cards before they are shown."""

import re

# Longer cards are cut off at this many bytes, because every rerun of a page reads the card again.
MAX_BYTES = 200_000
SHORTENED_NOTE = f"\n\n*This card is too long: only its first {MAX_BYTES // 1000} kB are shown.*"
# No repeated part of the pattern matches an opening bracket. Otherwise, matching a card with many unclosed images would
# take quadratic time, in practice minutes.
IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^)\[]*\)|\[[^\[\]]*\])?")
TAG = re.compile(r"<[^<>]*>")
# Outside code blocks, bold text at the start of a line begins a section and is the section's title.
SECTION_OR_FENCE = re.compile(r"^\*\*([^*\n]+)\*\*|```", re.MULTILINE)


def add_shortened_note(beginning: str, is_whole: bool) -> str:
    """Return the beginning of a card, followed by a note if the card was cut off.

    Args:
        beginning: beginning of the card.
        is_whole: whether `beginning` is the whole card.
    """
    return beginning if is_whole else beginning + SHORTENED_NOTE


def without_media(card: str) -> str:
    """Remove HTML and images from a Markdown card, because both could make a browser contact third parties."""
    # Removing the image from `!![](x)[alt](URL)` leaves another image, so escape every remaining `![`.
    return TAG.sub("", IMAGE.sub(r"\1", card)).replace("![", r"!\[")


def card_sections(card: str, longest: int) -> list[tuple[str, str]]:
    """Split a card into consecutive (title, Markdown) parts, so that a page can collapse long sections.

    A section of more than `longest` characters becomes a part with a title. Everything between long sections becomes a
    part with the title "". Together, the parts make up the whole card.
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
