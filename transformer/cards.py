"""Model cards of strangers, made fit for a page."""

from __future__ import annotations

import re

IMAGE = re.compile(r"!\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?")
TAG = re.compile(r"<[^<>]*>")


def without_media(card: str) -> str:
    """The Markdown of a card without images, which a page would fetch from elsewhere, and without HTML."""
    # What is left of `!![](x)[alt](address)` is an image again; a bracket with a backslash begins none.
    return TAG.sub("", IMAGE.sub(r"\1", card)).replace("![", r"!\[")
