"""Attention maps of a language model with full, local or compressed attention."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.errors import TextError
from transformer.language_modelling.cost import cell_count
from transformer.model.blocks import Blocks
from transformer.model.devices import device_errors_explained
from transformer.model.masks import causal_mask, compressed_mask, local_mask
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer
from transformer.text.normalisation import replace_surrogates
from transformer.text.vocabulary import TextVocabulary, start_token
from transformer.values.tokens import Token


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """Attention weights of a language model's heads on one text.

    Attributes:
        tokens: T input tokens, beginning with the start symbol; spans refer to the text.
        weights: attention weights, float32 [L, H, T, S].
        allowed: attention mask, bool [T, S]; False for masked cells.
        columns: for each of the S keys, the 0-based positions of the tokens that the key represents.
        config: model configuration.
    """

    tokens: tuple[Token, ...]
    weights: np.ndarray
    allowed: np.ndarray
    columns: tuple[tuple[int, ...], ...]
    config: TransformerConfig

    @property
    def cells(self) -> int:
        """Number of attention weights that one head computes, including masked ones."""
        return cell_count(self.config, len(self.tokens))


def map_of_text(model: Transformer, tokenizer: TextVocabulary, text: str, most: int) -> AttentionMap:
    """Run a language model on the start symbol and a text, and return the attention map.

    Args:
        model: model in evaluation mode.
        tokenizer: the model's tokenizer.
        text: text to read; must not be blank.
        most: maximum number of tokens in a map.

    Raises:
        TextError: the text is blank, or has more than `most` tokens.
        DeviceError: the device ran out of memory, or does not respond.
    """
    tokens = tokenizer.encode(replace_surrogates(text), end=False)
    if not text.strip() or not tokens:
        raise TextError("There is no text: type a sentence or two.")
    if len(tokens) > most:
        raise TextError(f"This text has {len(tokens):,} tokens, but a map has room for {most}: shorten the text.")
    rows = (start_token(tokenizer), *tokens)
    device = model.device
    with device_errors_explained(str(device)):
        ids = torch.tensor([[token.id for token in rows]], device=device)
        weights = attention_weights(model, ids)[:, 0].float().cpu().numpy()
    step = model.config.stride if model.config.attention == "compressed" else 1
    positions = range(len(rows))
    return AttentionMap(
        rows,
        weights,
        attention_mask(model.config, len(rows)).numpy(),
        tuple(tuple(positions[index : index + step]) for index in range(0, len(rows), step)),
        model.config,
    )


def attention_weights(model: Transformer, tokens: Tensor) -> Tensor:
    """Return the attention weights [L, B, H, T, S] for token ids [B, T]; cells that local attention skips are 0.

    Args:
        model: model in evaluation mode.
        tokens: token ids.
    """
    record = Recorder(details=False)
    with torch.inference_mode():
        model(None, tokens, record=record)
    weights = record.tensors["decoder.weights"]
    if model.config.attention == "local":
        blocks = Blocks(model.config.block, 0, tokens.shape[1])
        weights = [blocks.whole_map(weight) for weight in weights]
    return torch.stack(weights)


def attention_mask(config: TransformerConfig, length: int) -> Tensor:
    """Return the attention mask for `length` tokens, bool [T, S]; True where the query can see the key."""
    if config.attention == "local":
        return local_mask(length, config.block)
    return compressed_mask(length, config.stride) if config.attention == "compressed" else causal_mask(length)
