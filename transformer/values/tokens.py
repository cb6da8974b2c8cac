"""Defines `Token`: a token's id, span and role, and its text in a spelling that all vocabularies share."""

from dataclasses import dataclass
from typing import Literal

# Roles of tokens; "" is ordinary text. "unknown" stands for text that the vocabulary cannot encode. "symbol" is any
# other special token. "frame" is an audio frame; the token's text is the frame's start time in seconds.
Role = Literal["", "padding", "start", "end", "language", "symbol", "unknown", "frame"]


@dataclass(frozen=True)
class Token:
    """One token at one position in a text.

    Attributes:
        id: id in the vocabulary.
        text: spelling in a form common to all vocabularies: "▁Hund" (▁ marks a preceding space), "<0xF0>" (one byte),
            "</s>".
        span: character span [start, end) in the text, without surrounding spaces; None for special tokens. Byte tokens
            that encode one character share that character's span. A token that is only a space has start = end.
        role: role of the token; "" for ordinary text.
    """

    id: int
    text: str
    span: tuple[int, int] | None
    role: Role = ""

    @property
    def special(self) -> bool:
        """Whether the token is a special symbol (padding, start, end, language code or other), not text or audio."""
        return self.role not in ("", "unknown", "frame")
