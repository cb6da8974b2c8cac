"""Continues a text with a language model."""

from dataclasses import replace

import torch
from torch import Tensor

from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.writing import write
from transformer.errors import TextError
from transformer.model.kv_cache import DecoderCache
from transformer.model.transformer import Transformer
from transformer.text.normalisation import replace_surrogates
from transformer.text.vocabulary import TextVocabulary
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.translation import Translation


def continue_text(
    model: Transformer,
    tokenizer: TextVocabulary,
    text: str,
    settings: DecodingSettings,
    *,
    limit: int = 40,
    constraints: Constraints = UNCONSTRAINED,
    capture: bool = False,
) -> Translation:
    """Continue a text with a language model; the text may be empty.

    Args:
        model: model in evaluation mode.
        tokenizer: the model's tokenizer.
        text: text to continue.
        settings: decoding method and parameters.
        limit: maximum number of tokens to generate, at least 1; fewer are generated if the learned positions run out.
        constraints: required and banned tokens in the continuation.
        capture: whether beam search returns a search tree.

    Raises:
        TextError: the text fills all learned positions.
        ValueError: the limit is below 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    beginning = tuple(token.id for token in tokenizer.encode(replace_surrogates(text), end=False))
    positions = model.config.position_limit
    if positions is not None:
        # The last generated token is never an input, so it needs no position.
        room = positions - len(beginning)
        if room < 1:
            raise TextError(
                f"The beginning has {len(beginning):,} tokens, which leave none of this model's {positions:,} learned "
                "positions free: shorten the beginning."
            )
        limit = min(limit, room)
    with torch.inference_mode():
        read = torch.tensor([[model.symbols.start, *beginning]], device=model.device)
        return write(
            model,
            tokenizer,
            start_after(model, read),
            settings,
            constraints,
            limit=limit,
            capture=capture,
            beginning=beginning,
        )


def start_after(model: Transformer, beginning: Tensor) -> DecoderCache:
    """Return the cache for continuing B texts with the given beginnings, ids [B, T] including the start symbol.

    The cache covers each beginning except its last token, which the first decoding step reads. Do not use this
    cache for runs that need gradients.
    """
    cache = model.start_cache()
    if beginning.shape[1] > 1:
        cache = model.decode_step(beginning[:, :-1], cache)[1]
    return replace(cache, unread=beginning[:, -1])
