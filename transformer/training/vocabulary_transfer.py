"""Transfers a trained model to another vocabulary, so that a run need not start with random weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from transformer.text.tokenizer import Tokenizer

# Parameters with one row for each token of the vocabulary.
TOKEN_ROWS = ("source_embedding.weight", "target_embedding.weight", "generator.weight", "generator.bias")


def transfer(weights: Mapping[str, Tensor], old: Tokenizer, new: Tokenizer) -> dict[str, Tensor]:
    """Return the weights of a model, transferred to another vocabulary.

    The row of a token that both vocabularies have stays the same. The row of a new token is the mean of the rows of the
    old tokens that spell it (Gee et al. 2022, "Fast Vocabulary Transfer for Language Model Compression", section 3).
    All other weights stay the same.

    Args:
        weights: weights by name, of a model with the old vocabulary on both sides.
        old: vocabulary of the model.
        new: vocabulary to transfer to.
    """
    ids = {text: token for token, text in enumerate(old.texts)}
    ids_of_tokens = [[ids[text]] if text in ids else old.spell(text) for text in new.texts]
    lengths = torch.tensor([len(tokens) for tokens in ids_of_tokens])
    flat = torch.tensor([token for tokens in ids_of_tokens for token in tokens])
    owner = torch.arange(new.size).repeat_interleave(lengths)

    def mean_rows(rows: Tensor) -> Tensor:
        sums = rows.new_zeros(new.size, *rows.shape[1:]).index_add_(0, owner, rows[flat])
        return sums / lengths.view(-1, *[1] * (rows.ndim - 1))

    return {name: mean_rows(value) if name in TOKEN_ROWS else value for name, value in weights.items()}
