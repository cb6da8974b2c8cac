"""Adapts a trained model's weights to another vocabulary, so that training can start from the adapted weights."""

from collections.abc import Mapping

import torch
from torch import Tensor

from transformer.text.tokenizer import Tokenizer

# Parameters with one row per token in the vocabulary.
TOKEN_ROWS = ("source_embedding.weight", "target_embedding.weight", "generator.weight", "generator.bias")


def transfer(weights: Mapping[str, Tensor], old: Tokenizer, new: Tokenizer) -> dict[str, Tensor]:
    """Return a model's weights, adapted to another vocabulary.

    Tokens in both vocabularies keep their rows. A new token's row is the mean row of the old tokens that spell it
    (Gee et al. 2022, "Fast Vocabulary Transfer for Language Model Compression", section 3). All other weights stay the
    same.

    Args:
        weights: weights by name, of a model that uses the old vocabulary for source and target.
        old: tokenizer of the trained model.
        new: tokenizer to transfer to.
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
