"""URL parameters of the Backpropagation page, except layer and head, which are in `AttentionParams`."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, decimal, integer, matching, one_of
from pages.ui.params.pages import part_of

QUANTITIES = (STREAM, NETWORK) = ("stream", "network")


@dataclass(frozen=True)
class BackpropagationParams(Params, prefix="backward_"):
    """Settings of the Backpropagation page.

    Attributes:
        part: the open part of the page.
        stage: the key of the gradient shown in full; empty for the first one.
        row, column: the 1-based position of the examined gradient entry; 0 for the largest entry.
        step: the 1-based decoding step whose loss is used; 0 for the loss of all steps.
        smoothing: the label smoothing.
        quantity: the gradient whose norms are compared across layers, one of QUANTITIES.
    """

    OF_TRANSLATION = ("row", "column", "step")

    part: str = part_of("backpropagation")
    stage: str = matching("[a-z_.]{0,60}")
    row: int = integer(0, 0, 100_000)
    column: int = integer(0, 0, 100_000)
    step: int = integer(0, 0, 1_000)
    smoothing: float = decimal(0.0, 0.0, 0.9)
    quantity: str = one_of(QUANTITIES)
