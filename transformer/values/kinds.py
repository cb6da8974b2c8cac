"""The three kinds of attention of an encoder-decoder Transformer."""

from __future__ import annotations

from typing import get_args

from transformer.config import Kind as Kind

KINDS: tuple[Kind, ...] = get_args(Kind)
