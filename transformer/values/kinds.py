"""The three kinds of attention of an encoder-decoder Transformer, and its two stacks."""

from typing import Literal, get_args

from transformer.config import Kind as Kind

KINDS: tuple[Kind, ...] = get_args(Kind)
Stack = Literal["encoder", "decoder"]
