"""The three kinds of attention of an encoder-decoder Transformer."""

from __future__ import annotations

from typing import Literal

Kind = Literal["encoder", "decoder", "cross"]

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
