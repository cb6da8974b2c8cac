"""What a run may leave out of the model, to show what it is good for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunOptions:
    """Parts of the model that one run uses; the model itself never changes.

    Attributes:
        decoder_mask: hide later pieces from the decoder's self-attention. While a translation is written there are
            no later pieces, so this changes only the reading of a whole translation, from which a trace is made.
        positions: add the positional encoding to the embeddings, on both sides.
    """

    decoder_mask: bool = True
    positions: bool = True


AS_TRAINED = RunOptions()
