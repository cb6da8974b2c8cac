"""Attention masks. True means that the query can see the key; in torch's key_padding_mask, True hides the key."""

import torch
from torch import Tensor


def padding_mask(source_mask: Tensor | None) -> Tensor | None:
    """Return a mask that lets every query see the tokens but not the padding.

    Args:
        source_mask: bool [B, S], False on padding; None without padding.

    Returns:
        bool [B, 1, 1, S], which broadcasts over heads and queries; None without padding.
    """
    return None if source_mask is None else source_mask[:, None, None, :]  # [B, S] -> [B, 1, 1, S]


def causal_mask(length: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return a mask that lets every position see itself and earlier ones ("Attention Is All You Need", section 3.2.3).

    Returns:
        bool [T, T], True on and below the diagonal.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def local_mask(length: int, block: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return a mask that lets every position see itself and earlier positions in its block.

    Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3.

    Returns:
        bool [T, T].
    """
    number = torch.arange(length, device=device) // block
    return causal_mask(length, device=device) & (number[:, None] == number)


def compressed_mask(length: int, stride: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return a mask that lets every position see the compressed keys that contain no later position.

    The first `stride` - 1 positions see nothing, because no compressed key is complete yet.

    Returns:
        bool [T, ceil(T / stride)].
    """
    last = torch.arange(stride - 1, length + stride - 1, stride, device=device)
    return last <= torch.arange(length, device=device)[:, None]


def intersect(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """Return the mask that allows only the cells that both masks allow; None allows everything."""
    if one is None or other is None:
        return other if one is None else one
    return one & other
