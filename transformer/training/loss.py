"""The loss that training minimises."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.transformer import Transformer
from transformer.text.tokenizer import PAD
from transformer.training.batching import Batch

# Positions to predict are padded to multiples of this number, so that the product with the vocabulary has few shapes.
PORTION = 256


class SummedLoss(nn.Module):
    """Cross-entropy of the predicted tokens with label smoothing (section 5.4), summed over the tokens.

    A sum can be added up over batches of unequal size and over processes before the one division.
    """

    def __init__(self, model: Transformer, *, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> Tensor:
        """Summed loss, a scalar, in nats."""
        if batch.source is None:
            # Contexts are full of tokens, so there is hardly any padding to skip.
            hidden, labels = self.model.decode(batch.target, None).flatten(0, 1), batch.predicted.flatten()
        else:
            source_mask = batch.source != PAD
            hidden = self.model.decode(batch.target, self.model.encode(batch.source, source_mask), source_mask)
            positions, labels = positions_to_predict(batch.predicted)
            hidden = hidden.flatten(0, 1)[positions]
        logits = self.model.generator(hidden)
        return F.cross_entropy(
            logits.float(), labels, ignore_index=PAD, label_smoothing=self.label_smoothing, reduction="sum"
        )


def positions_to_predict(predicted: Tensor) -> tuple[Tensor, Tensor]:
    """The positions of the flattened batch that have a token to predict, padded to multiples of PORTION.

    Args:
        predicted: token ids [B, T].

    Returns:
        Positions [N] and the ids there [N]; N is a multiple of PORTION, or B * T if that is less.
    """
    flat = predicted.flatten()
    # A stable sort puts the real tokens first, followed by padding.
    order = torch.argsort((flat == PAD).to(torch.uint8), stable=True)
    real = int((flat != PAD).sum())
    positions = order[: -(-real // PORTION) * PORTION]
    return positions, flat[positions]
