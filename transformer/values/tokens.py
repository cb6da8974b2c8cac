"""A token of a text, in the same form for every vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Roles of tokens that are not ordinary text. "unknown" stands for text that the vocabulary cannot spell. "symbol" is
# any other token without text. "frame" is an interval of sound; its text is the time in seconds at which it begins.
Role = Literal["", "padding", "start", "end", "language", "symbol", "unknown", "frame"]


@dataclass(frozen=True)
class Token:
    """One token at one position of a text.

    Attributes:
        id: id in the vocabulary.
        text: the spelling, in one form for all vocabularies: "▁Hund" (▁ is the space before it), "<0xF0>" (one byte),
            "</s>".
        span: the characters [start, end) of the text that the token covers, without spaces; None for special
            tokens. The bytes of one character share its span. A token that is only a space covers nothing: start = end.
        role: the role of a token that is not ordinary; "" otherwise.
    """

    id: int
    text: str
    span: tuple[int, int] | None
    role: Role = ""

    @property
    def special(self) -> bool:
        """Whether the token stands for no text, like padding, the start and end symbols, and language codes."""
        return self.role not in ("", "unknown", "frame")
