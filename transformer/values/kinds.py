"""The three attention kinds and the two stacks in an encoder-decoder Transformer."""

from typing import Literal, get_args

from transformer.config import Kind as Kind

KINDS: tuple[Kind, ...] = get_args(Kind)
Stack = Literal["encoder", "decoder"]
