"""URL parameters of the "Long texts" page."""

from __future__ import annotations

from dataclasses import dataclass

from pages.ui.params.fields import Params, index, one_of, typed_text
from pages.ui.params.pages import part_of
from transformer.language_modelling.cost import ATTENTIONS

ALL = "all"
# Fields of `Cost` that are plotted against the length of the text.
QUANTITIES = (WEIGHTS, SECONDS, KEYS_AND_VALUES) = "weights", "seconds", "keys_and_values"
# The numbers of layers and heads of the shipped models.
LAYERS, HEADS = 2, 2
OWN_TEXT = "Tom bought a new dog. The dog likes to sleep in the kitchen. Tom is very happy."


@dataclass(frozen=True)
class LongTextsParams(Params, prefix="long_"):
    """Settings of the page.

    Attributes:
        part: the shown part of the page.
        text: the text whose maps are shown; it may be empty.
        attention: the kind of attention whose map is shown; ALL for all kinds side by side.
        layer, head: the layer and the head of the maps, from 0.
        quantity: the measured cost, one of QUANTITIES.
    """

    part: str = part_of("long_texts")
    text: str = typed_text(OWN_TEXT)
    attention: str = one_of((ALL, *ATTENTIONS))
    layer: int = index(LAYERS - 1)
    head: int = index(HEADS - 1)
    quantity: str = one_of(QUANTITIES)
