"""Training loss: summed cross-entropy with label smoothing."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.transformer import Transformer
from transformer.text.tokenizer import PAD
from transformer.training.batching import Batch

# The number of positions is padded to a multiple of this, so that the output layer sees few matrix shapes.
PADDING_MULTIPLE = 256


class SummedLoss(nn.Module):
    """Cross-entropy with label smoothing ("Attention Is All You Need", section 5.4), summed over the tokens to predict.

    Sums, unlike means, can be added across batches and processes, and then divided by the total number of tokens.
    """

    def __init__(self, model: Transformer, *, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> Tensor:
        if batch.source is None:
            # Contexts are nearly full, so skipping padding would save hardly anything.
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
    """Return the positions in the flattened batch that have a token to predict, and the token ids there.

    Args:
        predicted: token ids [B, T].

    Returns:
        Positions in the flattened batch, [N], and the token ids there, [N]. Positions of padding follow at the end, so
        that N is a multiple of PADDING_MULTIPLE, or B * T if that is smaller.
    """
    flat = predicted.flatten()
    # A stable sort puts real tokens first, in their original order, and padding last.
    order = torch.argsort((flat == PAD).to(torch.uint8), stable=True)
    real = int((flat != PAD).sum())
    positions = order[: -(-real // PADDING_MULTIPLE) * PADDING_MULTIPLE]
    return positions, flat[positions]
