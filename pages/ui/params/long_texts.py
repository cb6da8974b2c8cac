"""URL parameters of the "Long texts" page."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, index, one_of, typed_text
from pages.ui.params.pages import part_of
from transformer.language_modelling.cost import ATTENTIONS

ALL = "all"
# Fields of `Cost` that can be plotted against text length.
QUANTITIES = (WEIGHTS, SECONDS, KEYS_AND_VALUES) = "weights", "seconds", "keys_and_values"
# Number of layers, and of heads per layer, in the shipped models for long texts.
LAYERS, HEADS = 2, 2
OWN_TEXT = "Tom bought a new dog. The dog likes to sleep in the kitchen. Tom is very happy."


@dataclass(frozen=True)
class LongTextsParams(Params, prefix="long_"):
    """Settings of the "Long texts" page.

    Attributes:
        part: the open part of the page.
        text: the text whose attention maps are shown; may be empty.
        attention: the kind of attention to show, or ALL for all kinds side by side.
        layer, head: the 0-based layer and head to show.
        quantity: the cost to plot, one of QUANTITIES.
    """

    part: str = part_of("long_texts")
    text: str = typed_text(OWN_TEXT)
    attention: str = one_of((ALL, *ATTENTIONS))
    layer: int = index(LAYERS - 1)
    head: int = index(HEADS - 1)
    quantity: str = one_of(QUANTITIES)
