"""Attention masks. True means "may look" everywhere, the opposite of torch's key_padding_mask."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(source_mask: Tensor | None) -> Tensor | None:
    """Let every query look at the tokens but not at padding.

    Args:
        source_mask: bool [B, S], False on padding; None when there is none.

    Returns:
        bool [B, 1, 1, S], broadcast over heads and queries; None when there is nothing to hide.
    """
    return None if source_mask is None else source_mask[:, None, None, :]  # [B, S] -> [B, 1, 1, S]


def causal_mask(length: int, *, device: torch.device | str | None = None) -> Tensor:
    """Let every position look at itself and at earlier ones ("Attention Is All You Need", section 3.2.3).

    Returns:
        bool [T, T], the lower triangle with its diagonal.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def local_mask(length: int, block: int, *, device: torch.device | str | None = None) -> Tensor:
    """Let every position look at itself and at earlier ones of its own block (Liu et al. 2018, "Generating Wikipedia by
    Summarizing Long Sequences", section 4.2.3).

    Returns:
        bool [T, T].
    """
    number = torch.arange(length, device=device) // block
    return causal_mask(length, device=device) & (number[:, None] == number)


def compressed_mask(length: int, stride: int, *, device: torch.device | str | None = None) -> Tensor:
    """Let every position look at the compressed keys that hold no later position.

    The first positions, before a compressed key is complete, look at nothing.

    Returns:
        bool [T, ceil(T / stride)].
    """
    last = torch.arange(stride - 1, length + stride - 1, stride, device=device)
    return last <= torch.arange(length, device=device)[:, None]


def intersect(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The mask that allows a cell if both masks allow it; None allows everything."""
    if one is None or other is None:
        return other if one is None else one
    return one & other
