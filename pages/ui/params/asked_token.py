"""The predicted token that several pages of "Ask" explain, whichever of them it was chosen on."""

from __future__ import annotations

from typing import NamedTuple


class AskedToken(NamedTuple):
    """A predicted token that the user chose, alone or against another one.

    Attributes:
        position: from 0.
        against: id of the other token; None if the user chose none.
    """

    position: int
    against: int | None
