"""Model cards of strangers, made fit for a page."""

from __future__ import annotations

import re

# More is not shown of a card: every run of a page reads it again.
MOST_BYTES = 200_000
CUT = f"\n\n*The card goes on: only its first {MOST_BYTES // 1000} kB are shown.*"
# No part runs over the bracket that the next image may begin with: from each of many beginnings to the end of a card
# would take minutes.
IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^)\[]*\)|\[[^\[\]]*\])?")
TAG = re.compile(r"<[^<>]*>")


def shortened(beginning: str, whole: bool) -> str:
    """A card of which the beginning was read, saying so where that is not the whole one."""
    return beginning if whole else beginning + CUT


def without_media(card: str) -> str:
    """The Markdown of a card without images, which a page would fetch from elsewhere, and without HTML."""
    # What is left of `!![](x)[alt](address)` is an image again; a bracket with a backslash begins none.
    return TAG.sub("", IMAGE.sub(r"\1", card)).replace("![", r"!\[")
