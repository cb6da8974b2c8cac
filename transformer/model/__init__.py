"""The model: attention, masks, positions, layers, and the Transformer made of them."""

from transformer.model.memory_order import arrange_for_single_pieces
from transformer.model.recorder import Recorder
from transformer.model.transformer import DecoderCache, Transformer, build

__all__ = ["DecoderCache", "Recorder", "Transformer", "arrange_for_single_pieces", "build"]
