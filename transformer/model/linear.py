"""The linear map of every projection, with a second form of its weights for a model that only reads."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Linear):
    """x W^T + b, from [..., inputs] to [..., outputs].

    A decoding step multiplies one or a few vectors with every matrix, which takes as long as fetching the matrices from
    memory. The weights of a checkpoint are numbers of half precision; a CPU that fetches them as such, and computes in
    float32 as before, is up to ten times as fast and comes to the same result but for the order of summation.

    Args:
        inputs, outputs, bias: as in torch's.
        cut: outputs before and behind it can be had by themselves; None for maps that are only used whole.
    """

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True, cut: int | None = None) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self._parts = (slice(None),) if cut is None else (slice(None), slice(cut), slice(cut, None))
        self._packed: tuple[torch.ScriptObject, ...] = ()

    def forward(self, x: Tensor) -> Tensor:
        """All outputs."""
        return self._part(0, x)

    def before_cut(self, x: Tensor) -> Tensor:
        """The first `cut` outputs."""
        return self._part(1, x)

    def behind_cut(self, x: Tensor) -> Tensor:
        """The outputs from `cut` on."""
        return self._part(2, x)

    def pack(self) -> None:
        """Keep the weights in half precision as well, if it holds them exactly and this machine's CPU can use it.

        From then on the map is for the CPU, without gradients, and its weights must not change.
        """
        if "fbgemm" not in torch.backends.quantized.supported_engines:
            return
        if not torch.equal(self.weight.half().float(), self.weight):
            return
        self._packed = tuple(
            torch.ops.quantized.linear_prepack_fp16(weight.detach().contiguous(), bias)
            for weight, bias in map(self._weights, self._parts)
        )

    def _part(self, number: int, x: Tensor) -> Tensor:
        if self._packed:
            return torch.ops.quantized.linear_dynamic_fp16.default(x, self._packed[number])
        return F.linear(x, *self._weights(self._parts[number]))

    def _weights(self, part: slice) -> tuple[Tensor, Tensor | None]:
        if part == slice(None):
            # Not a slice of everything: autocast keeps its half-precision copy of a parameter, not of a slice.
            return self.weight, self.bias
        return self.weight[part], None if self.bias is None else self.bias[part]


def pack_weights(model: nn.Module) -> None:
    """`Linear.pack` every linear map of a model."""
    for module in model.modules():
        if isinstance(module, Linear):
            module.pack()
