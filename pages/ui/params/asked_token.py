"""The predicted token that the user asks about, shared by several pages of the "Ask" section."""

from typing import NamedTuple


class AskedToken(NamedTuple):
    """A predicted token that the user chose, optionally compared with another token.

    Attributes:
        position: the predicted token's 0-based position.
        against: the ID of the token to compare with; None for no comparison.
    """

    position: int
    against: int | None
