"""URL parameters of the Patch page."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, Self

from pages.ui.params.asked_token import AskedToken
from pages.ui.params.attention import MAX_INDEX, UNCHOSEN
from pages.ui.params.decoding import MAX_ID
from pages.ui.params.fields import Params, index, integer, one_of, parsed, typed_text
from transformer.errors import InterventionError
from transformer.values.patches import PATCH_SITES, PatchSite, Place, parse_patch, patch_name

Direction = Literal["needed", "enough"]
DIRECTIONS: tuple[Direction, ...] = ("needed", "enough")


# Maximum number of patches in a URL: enough to patch two heads at all tokens of a long sentence.
MAX_KEPT = 300


@dataclass(frozen=True)
class KeptPatches:
    """Patches that the user has kept. A URL stores them in the notation of `patch_name`; invalid names are ignored."""

    patches: tuple[tuple[Place, int], ...] = ()

    def __str__(self) -> str:
        return ",".join(patch_name(place, other) for place, other in self.patches)

    @classmethod
    def parse(cls, text: str) -> KeptPatches:
        patches = []
        for name in text.split(",")[:MAX_KEPT]:
            with suppress(InterventionError):
                patches.append(parse_patch(name))
        return cls(tuple(patches))


@dataclass(frozen=True)
class PatchParams(Params, prefix="patch_"):
    """Settings of the Patch page.

    Attributes:
        other: the second sentence; if empty, the first one's partner in `PAIRS`.
        step: the 1-based position of the predicted token; 0 lets the page choose.
        first, second: the IDs of the two tokens whose logits are compared; UNCHOSEN lets the page choose.
        direction: "needed" patches the first sentence's run with values from the second's; "enough" does the reverse.
        site: what to patch, one of PATCH_SITES.
        layer, head: the 0-based layer (or depth) and head to patch; if the layer is UNCHOSEN, the page chooses a cell
            of the grid.
        at: the 0-based position to patch, in the first sentence or in the translation; UNCHOSEN patches a head at all
            tokens.
        partner: the 0-based position in the second sentence to copy from; UNCHOSEN for the position matched
            automatically.
        kept: further patches to apply together with the chosen patch.
    """

    OF_TRANSLATION = ("step", "first", "second", "layer", "head", "at", "partner", "kept")
    OF_SENTENCE = ("other",)

    other: str = typed_text("")
    step: int = integer(0, 0, MAX_INDEX)
    first: int = integer(UNCHOSEN, UNCHOSEN, MAX_ID)
    second: int = integer(UNCHOSEN, UNCHOSEN, MAX_ID)
    direction: Direction = one_of(DIRECTIONS)
    site: PatchSite = one_of(PATCH_SITES, "encoder.residual")
    layer: int = index(MAX_INDEX, UNCHOSEN)
    head: int = index(MAX_INDEX, 0)
    at: int = index(MAX_INDEX, UNCHOSEN)
    partner: int = index(MAX_INDEX, UNCHOSEN)
    kept: KeptPatches = parsed(KeptPatches(), KeptPatches.parse)

    @property
    def asked(self) -> AskedToken | None:
        """The predicted token that the user chose; None if the page chooses one."""
        return AskedToken(self.step - 1, None if self.second == UNCHOSEN else self.second) if self.step else None

    def asking(self, token: AskedToken) -> Self:
        """Return a copy that explains a token chosen on another page."""
        return self.at_step(token.position + 1, UNCHOSEN if token.against is None else token.against)

    def at_step(self, step: int, second: int = UNCHOSEN) -> Self:
        """Return a copy that asks why the model predicts its token at `step` (1-based) and not the token `second`."""
        return replace(self, step=step, first=UNCHOSEN, second=second, layer=UNCHOSEN, at=UNCHOSEN, partner=UNCHOSEN)
