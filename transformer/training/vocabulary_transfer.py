"""Transfers a trained model to another vocabulary, so that a run need not begin with random weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from transformer.text.tokenizer import Tokenizer

# The parameters that have one row for each token of the vocabulary.
PIECE_ROWS = ("source_embedding.weight", "target_embedding.weight", "generator.weight", "generator.bias")


def transfer(weights: Mapping[str, Tensor], old: Tokenizer, new: Tokenizer) -> dict[str, Tensor]:
    """The weights of a model for another vocabulary.

    The row of a token in both vocabularies stays the same. The row of a new token is the mean of the rows of the old
    tokens that spell it (Gee et al. 2022, "Fast Vocabulary Transfer for Language Model Compression", section 3). All
    other weights stay the same.

    Args:
        weights: weights by name of a model with the old vocabulary on both sides.
        old: its vocabulary.
        new: the new vocabulary.
    """
    ids = {text: piece for piece, text in enumerate(old.texts)}
    spelt = [[ids[text]] if text in ids else old.spell(text) for text in new.texts]
    lengths = torch.tensor([len(pieces) for pieces in spelt])
    flat = torch.tensor([piece for pieces in spelt for piece in pieces])
    owner = torch.arange(new.size).repeat_interleave(lengths)

    def mean_rows(rows: Tensor) -> Tensor:
        sums = rows.new_zeros(new.size, *rows.shape[1:]).index_add_(0, owner, rows[flat])
        return sums / lengths.view(-1, *[1] * (rows.ndim - 1))

    return {name: mean_rows(value) if name in PIECE_ROWS else value for name, value in weights.items()}
