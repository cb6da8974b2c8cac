"""URL parameters of the "Your own attention" page."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.attention import AttentionParams
from pages.ui.params.fields import Params, matching, one_of
from transformer.values.trace import KINDS, Kind

# Matches the name of a file without a path, or nothing.
NAME = r"([A-Za-z0-9][A-Za-z0-9 ._-]{0,63})?"


@dataclass(frozen=True)
class OwnParams(Params, prefix="own_"):
    """Settings of the page.

    Attributes:
        file: the name of a file in the folder; empty for the uploaded file or the example.
        kind: the kind of attention; if the file does not have it, the last kind of the file is shown.
    """

    file: str = matching(NAME)
    kind: Kind = one_of(KINDS, "cross")


@dataclass(frozen=True)
class OwnHeadParams(AttentionParams, prefix="own_"):
    """The shown head of a file, its display settings, and its pinned tokens."""

    def for_another_sentence(self) -> OwnHeadParams:
        """Return these parameters unchanged: a file does not use the translator's sentence."""
        return self

    def for_another_translation(self) -> OwnHeadParams:
        return self
