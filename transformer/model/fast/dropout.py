"""Dropout with random numbers that are cheap to draw on a CPU."""

import torch
import torch.nn.functional as F
from torch import Tensor

# Number of values that 16 bits can represent. Rates are rounded to multiples of 1 / LEVELS (less than 0.00002).
LEVELS = 1 << 16


def dropout(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """In training, set each number to 0 with probability `rate`, and divide the others by 1 - rate.

    Srivastava et al. 2014, "Dropout", section 10; used as in "Attention Is All You Need", section 5.4. On a CPU,
    torch's dropout draws 64 bits for each number, which takes an eighth of a training step. This function draws 64 bits
    for every four numbers.

    Args:
        x: any shape.
        rate: at least 0 and less than 1; rounded to a multiple of 2^-16 on a CPU.

    Returns:
        A tensor of the same shape and type as x.
    """
    if not (training and rate):
        return x
    if x.device.type != "cpu":
        return F.dropout(x, rate)
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(1 << 63), None).view(torch.int16)
    keep = bits[: x.numel()].view(x.shape) >= round(rate * LEVELS) - LEVELS // 2
    return x * keep.to(x.dtype).div_(1 - rate)
