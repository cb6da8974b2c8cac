"""Training loss: summed cross-entropy with label smoothing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.transformer import Transformer
from transformer.text.tokenizer import PAD
from transformer.training.batching import Batch

# Positions are padded to a multiple of this number, so that the output layer sees few distinct shapes.
PADDING_MULTIPLE = 256


class SummedLoss(nn.Module):
    """Cross-entropy of the predicted tokens with label smoothing (section 5.4 of the paper), summed over the tokens.

    Sums over batches and processes can be added up, and divided once by the total number of tokens.
    """

    def __init__(self, model: Transformer, *, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> Tensor:
        """Return the summed loss in nats, a scalar."""
        if batch.source is None:
            # Contexts are nearly full, so there is hardly any padding to skip.
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
    """Find the positions in the flattened batch that have a token to predict, padded to a multiple of PORTION.

    Args:
        predicted: token ids [B, T].

    Returns:
        Positions [N], and the ids there [N]. N is a multiple of PORTION, or B * T if that is smaller.
    """
    flat = predicted.flatten()
    # A stable sort puts the real tokens first, in order, and the padding after them.
    order = torch.argsort((flat == PAD).to(torch.uint8), stable=True)
    real = int((flat != PAD).sum())
    positions = order[: -(-real // PADDING_MULTIPLE) * PADDING_MULTIPLE]
    return positions, flat[positions]
