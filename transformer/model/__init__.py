"""The model: attention, masks, positions, layers, and the Transformer made of them."""

from transformer.model.linear import pack_weights
from transformer.model.recorder import Recorder
from transformer.model.transformer import DecoderCache, Transformer, build

__all__ = ["DecoderCache", "Recorder", "Transformer", "build", "pack_weights"]
