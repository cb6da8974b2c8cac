"""What the page Your own attention shows."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.attention import AttentionParams
from pages.ui.params.fields import Params, matching, one_of
from transformer.values.trace import KINDS, Kind

# A file's name; no path.
NAME = r"([A-Za-z0-9][A-Za-z0-9 ._-]{0,63})?"


@dataclass(frozen=True)
class OwnParams(Params, prefix="own_"):
    """What the page shows.

    Attributes:
        file: name of the file in the folder; empty for the one that was uploaded, or the example.
        kind: of attention; the last one of the file if it does not have it.
    """

    file: str = matching(NAME)
    kind: Kind = one_of(KINDS, "cross")


@dataclass(frozen=True)
class OwnHeadParams(AttentionParams, prefix="own_"):
    """Which head of a file is shown, how, and which tokens are pinned in it."""

    def for_another_sentence(self) -> OwnHeadParams:
        """What the translator reads is nothing to it."""
        return self

    def for_another_translation(self) -> OwnHeadParams:
        return self
