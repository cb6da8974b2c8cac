"""Who may look at whom. True means "may look" everywhere, the opposite of torch's key_padding_mask."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(real: Tensor | None) -> Tensor | None:
    """Let every query look at the real pieces and at no padding.

    Args:
        real: bool [B, S], False on padding; None when there is none.

    Returns:
        bool [B, 1, 1, S], to be broadcast over heads and queries; None when there is nothing to hide.
    """
    return None if real is None else real[:, None, None, :]


def causal_mask(length: int, *, device: torch.device | str | None = None) -> Tensor:
    """Let every position look at itself and at earlier ones ("Attention Is All You Need", section 3.2.3).

    Returns:
        bool [T, T], the lower triangle with its diagonal.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
