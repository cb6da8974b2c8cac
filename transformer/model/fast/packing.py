"""The linear map of every projection, with half-precision copies of its weights for inference on a CPU."""

from __future__ import annotations

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.fast.malloc import use_huge_pages
from transformer.model.fast.modules import Module

# Multiplications from which on a product is faster on all cores than on one.
WORTH_ALL_CORES = 1 << 21
# Parameters from which on a model is read from memory at every step, not from a processor's own.
LARGE = 1 << 20


class Linear(Module, nn.Linear):
    """x W^T + b, from [..., inputs] to [..., outputs].

    A decoding step multiplies one or a few vectors by every matrix, which takes as long as reading the matrices from
    memory. The weights of a checkpoint are half-precision numbers; a CPU that reads them as such, and computes in
    float32 as before, is up to ten times as fast, and the result differs only by the order of summation.

    Args:
        inputs, outputs, bias: as in torch's.
        split: index at which the outputs can be computed in two parts; None for maps that are only used whole.
    """

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True, split: int | None = None) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self._parts = (slice(None),) if split is None else (slice(None), slice(split), slice(split, None))
        self._packed: tuple[PackedWeights, ...] = ()

    def forward(self, input: Tensor) -> Tensor:
        """All outputs."""
        packed = self._packed
        if packed and not input.requires_grad:
            return packed[0].product(input)
        # Not a slice of everything: autocast keeps its half-precision copy of a parameter, not of a slice.
        return F.linear(input, self.weight, self.bias)

    def before_split(self, x: Tensor) -> Tensor:
        """The outputs before `split`."""
        return self._part(1, x)

    def after_split(self, x: Tensor) -> Tensor:
        """The outputs from `split` on."""
        return self._part(2, x)

    def pack(self) -> None:
        """Add half-precision copies of the weights, if they are exact and this machine's CPU supports them.

        From then on the map runs on the CPU only, and its weights must not change. A run that needs gradients takes
        the weights themselves.
        """
        if "fbgemm" not in torch.backends.quantized.supported_engines:
            return
        if not torch.equal(self.weight.half().float(), self.weight):
            return
        self._packed = tuple(PackedWeights(*self._weights(part)) for part in self._parts)

    def _part(self, number: int, x: Tensor) -> Tensor:
        if self._packed and not x.requires_grad:
            return self._packed[number].product(x)
        return F.linear(x, *self._weights(self._parts[number]))

    def _weights(self, part: slice) -> tuple[Tensor, Tensor | None]:
        return self.weight[part], None if self.bias is None else self.bias[part]


class PackedWeights:
    """Half-precision copies of weights [outputs, inputs] and a bias [outputs], for products on one core and on all.

    torch takes longer to begin a product on all cores than most products of a decoding step take on one.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._bias = None if bias is None else bias.detach()
        weight = weight.detach().contiguous()
        self._all_cores = torch.ops.quantized.linear_prepack_fp16(weight, bias)
        # Numbers of an input from which on all cores take less.
        self._worth_all_cores = 0
        if weight.numel() < WORTH_ALL_CORES:
            with warnings.catch_warnings():
                # Both warn, once a process, that a later torch will not have them. Its version is pinned, and the
                # other product takes 10 microseconds longer, 36 times in a decoding step.
                warnings.simplefilter("ignore", UserWarning)
                self._one_core = torch.fbgemm_pack_gemm_matrix_fp16(weight)
                self._worth_all_cores = -(-WORTH_ALL_CORES // len(weight))
                self.product(weight.new_zeros(1, weight.shape[1]))

    def product(self, x: Tensor) -> Tensor:
        """x W^T + b, [..., outputs] for x [..., inputs]."""
        # A process that computes on one core, as a server does, gains nothing from the other product.
        if x.numel() < self._worth_all_cores or (self._worth_all_cores and torch.get_num_threads() == 1):
            return torch.fbgemm_linear_fp16_weight_fp32_activation(x, self._one_core, self._bias)
        return torch.ops.quantized.linear_dynamic_fp16.default(x, self._all_cores)


def pack_weights(model: nn.Module) -> None:
    """`Linear.pack` every linear map of a model."""
    for module in model.modules():
        if isinstance(module, Linear):
            module.pack()
    if sum(parameter.numel() for parameter in model.parameters()) >= LARGE:
        use_huge_pages()
