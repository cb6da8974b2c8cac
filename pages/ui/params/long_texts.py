"""URL parameters of the "Long texts" page."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, index, one_of, typed_text
from pages.ui.params.pages import part_of
from transformer.language_modelling.cost import ATTENTIONS

ALL = "all"
# Quantities that are plotted against the length: fields of `Cost`.
QUANTITIES = (WEIGHTS, SECONDS, KEYS_AND_VALUES) = "weights", "seconds", "keys_and_values"
# Layers and heads of the models that ship.
LAYERS, HEADS = 2, 2
OWN_TEXT = "Tom bought a new dog. The dog likes to sleep in the kitchen. Tom is very happy."


@dataclass(frozen=True)
class LongTextsParams(Params, prefix="long_"):
    """Settings of the page.

    Attributes:
        part: the part of the page.
        text: the text whose maps are shown; it may be empty.
        attention: the attention whose map is shown; ALL for all of them side by side.
        layer, head: of the map, from 0.
        quantity: the quantity of the cost, one of QUANTITIES.
    """

    part: str = part_of("long_texts")
    text: str = typed_text(OWN_TEXT)
    attention: str = one_of((ALL, *ATTENTIONS))
    layer: int = index(LAYERS - 1)
    head: int = index(HEADS - 1)
    quantity: str = one_of(QUANTITIES)
