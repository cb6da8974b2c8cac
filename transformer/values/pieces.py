"""One piece of a text, as every vocabulary gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What a piece is if it is not part of a text, or stands for a part that the vocabulary cannot spell. A symbol is any
# other that stands for no text; a frame is a stretch of sound, and its text the seconds at which it begins.
Role = Literal["", "padding", "start", "end", "language", "symbol", "unknown", "frame"]


@dataclass(frozen=True)
class Piece:
    """One entry of the vocabulary at one place of a text.

    Attributes:
        id: in the vocabulary.
        text: what it spells, in one way for all vocabularies: "▁Hund" (▁ is the space before it), "<0xF0>" (one byte),
            "</s>".
        span: the characters [start, end) of the text that it covers, spaces left out; None for special
            pieces. The bytes of one character share its span; a lone space mark covers nothing, start = end.
        role: what it is, if it is no ordinary piece.
    """

    id: int
    text: str
    span: tuple[int, int] | None
    role: Role = ""

    @property
    def special(self) -> bool:
        """Whether it stands for nothing that was said: padding, start and end symbol, a language code."""
        return self.role not in ("", "unknown", "frame")
