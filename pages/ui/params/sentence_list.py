"""URL parameter of the user's list of sentences, which only the address of a slide has."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, typed_text


@dataclass(frozen=True)
class ListParams(Params, prefix="my_"):
    """The list of a slide that was just opened; the session keeps it, and later addresses are without it.

    Attributes:
        sentences: one per line.
    """

    sentences: str = typed_text("")
