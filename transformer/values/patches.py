"""Names and checks activation patches, which overwrite activations with those of another sentence.

Vig et al. 2020, "Investigating Gender Bias in Language Models Using Causal Mediation Analysis"; Zhang and Nanda 2024,
"Towards Best Practices of Activation Patching".
"""

import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

from transformer.errors import InterventionError

# The sites of `values.sites` whose values can be patched.
PatchSite = Literal[
    "encoder.outputs",
    "decoder.outputs",
    "cross.outputs",
    "encoder.weights",
    "decoder.weights",
    "cross.weights",
    "encoder.residual",
    "decoder.residual",
    "encoder.feed_forward",
    "decoder.feed_forward",
]
PATCH_SITES: tuple[PatchSite, ...] = get_args(PatchSite)
# (site, layer, head, position). Head is 0 for sites without heads. For the residual stream, the layer is a depth:
# 0 is the embedding, and l is the stream after l layers. The last depth is before a pre-norm stack's final norm.
Place = tuple[PatchSite, int, int, int]
# Token ids of a source text, and token ids of the decoder input, which begins with the start symbol.
Pair = tuple[tuple[int, ...], tuple[int, ...]]
NAME = re.compile(
    r"(encoder|decoder|cross)\.(outputs|weights|residual|feed_forward)\.([0-9]{1,2})(?:\.([0-9]{1,2}))?"
    r"~([1-9][0-9]{0,2})(?:~([1-9][0-9]{0,2}))?"
)


def kind_of(site: PatchSite) -> Any:
    """Return the attention kind of a site with heads, or the stack of a site without heads."""
    return site.partition(".")[0]


def stack_of(site: PatchSite) -> Literal["encoder", "decoder"]:
    """Return the stack whose token positions a site uses."""
    return "encoder" if site.startswith("encoder") else "decoder"


def has_heads(site: PatchSite) -> bool:
    """Whether a site has a separate activation for each head."""
    return site.endswith(("outputs", "weights"))


def is_residual(site: PatchSite) -> bool:
    """Whether a site is in the residual stream."""
    return site.endswith("residual")


def patch_name(place: Place, other: int | None = None) -> str:
    """Return a patch's name, such as cross.outputs.4.8~10: site, layer, head and position.

    Numbers are 1-based, except for the depth in the residual stream, which is 0 for the embedding. For example,
    encoder.residual.3~7~9 overwrites position 7 with the vector at position 9 of the other sentence.
    """
    site, layer, head, position = place
    layer, numbers = layer + (not is_residual(site)), f".{head + 1}" if has_heads(site) else ""
    elsewhere = "" if other in (None, position) else f"~{other + 1}"
    return f"{site}.{layer}{numbers}~{position + 1}{elsewhere}"


def parse_patch(text: str) -> tuple[Place, int]:
    """Parse a name returned by `patch_name` into a `Place` and the position in the other sentence to copy from.

    Raises:
        InterventionError: `text` is not a patch name.
    """
    found = NAME.fullmatch(text)
    site: Any = f"{found[1]}.{found[2]}" if found else ""
    if (
        found is None
        or site not in PATCH_SITES
        or (found[4] is not None) != has_heads(site)
        or found[4] in ("0", "00")
        or int(found[3]) < (not is_residual(site))
    ):
        raise InterventionError(
            f"{text!r} is not a patch. Write it as cross.outputs.4.8~10 or encoder.residual.3~7: site, layer, head if "
            f"the site has heads, and position, counted from 1. The sites are {', '.join(PATCH_SITES)}."
        )
    layer, position = int(found[3]) - (not is_residual(site)), int(found[5]) - 1
    return (site, layer, int(found[4] or 1) - 1, position), int(found[6] or found[5]) - 1


def checked_patch(place: Sequence[Any], other: Any) -> tuple[Place, int]:
    """Validate and return a patch: a `Place`, and the position in the other sentence to copy from.

    Raises:
        InterventionError: `place` is not (site, layer, head, position), or a number is negative.
    """
    place = tuple(place)
    if (
        len(place) != 4
        or place[0] not in PATCH_SITES
        or (place[2] != 0 and not has_heads(place[0]))
        or not all(isinstance(number, int) and number >= 0 for number in (*place[1:], other))
    ):
        raise InterventionError(
            f"{place!r} and {other!r} are not a patch: pass (site, layer, head, position) and a position in the other "
            "sentence. Numbers start at 0; the head is 0 at sites without heads. The sites are "
            f"{', '.join(PATCH_SITES)}."
        )
    return place, other  # type: ignore[return-value]
