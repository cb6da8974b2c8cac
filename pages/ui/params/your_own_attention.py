"""URL parameters of the "Your own attention" page."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.attention import AttentionParams
from pages.ui.params.fields import Params, matching, one_of
from transformer.values.trace import KINDS, Kind

# The name of a file, without a path.
NAME = r"([A-Za-z0-9][A-Za-z0-9 ._-]{0,63})?"


@dataclass(frozen=True)
class OwnParams(Params, prefix="own_"):
    """Settings of the page.

    Attributes:
        file: name of the file in the folder; empty for the uploaded file, or the example.
        kind: the kind of attention; the last one of the file if the file does not have it.
    """

    file: str = matching(NAME)
    kind: Kind = one_of(KINDS, "cross")


@dataclass(frozen=True)
class OwnHeadParams(AttentionParams, prefix="own_"):
    """The shown head of a file, how it is shown, and its pinned tokens."""

    def for_another_sentence(self) -> OwnHeadParams:
        """Return these parameters unchanged: a file does not use the translator's sentence."""
        return self

    def for_another_translation(self) -> OwnHeadParams:
        return self
