"""URL parameters of the "Your own attention" page."""

from dataclasses import dataclass

from pages.ui.params.attention import AttentionParams
from pages.ui.params.fields import Params, matching, one_of
from transformer.values.trace import KINDS, Kind

# Matches a file name without a path, or an empty string.
NAME = r"([A-Za-z0-9][A-Za-z0-9 ._-]{0,63})?"


@dataclass(frozen=True)
class OwnParams(Params, prefix="own_"):
    """Settings of the "Your own attention" page.

    Attributes:
        file: the name of a file in the server's folder of attention files; empty for the uploaded file or the example.
        kind: the kind of attention to show; if the file lacks it, the last kind in the file is shown.
    """

    file: str = matching(NAME)
    kind: Kind = one_of(KINDS, "cross")


@dataclass(frozen=True)
class OwnHeadParams(AttentionParams, prefix="own_"):
    """The selected head of the user's attention file, with the display settings and pinned tokens of its maps."""

    # A new translation resets nothing, because the file's heads do not depend on it.
    OF_TRANSLATION = ()
