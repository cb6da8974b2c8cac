"""Half-precision copies of weights, for faster products on a CPU."""

import warnings

import torch
from torch import Tensor

# With this many multiplications or more, a product on all cores is faster than on one.
WORTH_ALL_CORES = 1 << 21


class PackedWeights:
    """A layer's bias [outputs] and half-precision copies of its weights [outputs, inputs], for one or all CPU cores.

    A decoding step multiplies one or a few vectors by every matrix, so it takes about as long as reading the matrices
    from memory. A checkpoint's weights are half-precision numbers, so reading them in half precision loses nothing.
    Computation stays in float32. Products are up to ten times as fast; results differ only in the order of summation.

    For most products of a decoding step, torch takes longer to start all cores than to compute the product on one core.
    Small products therefore run on one core.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._bias = None if bias is None else bias.detach()
        weight = weight.detach().contiguous()
        self._all_cores = torch.ops.quantized.linear_prepack_fp16(weight, bias)
        # With at least `_worth_all_cores` input values, a product on all cores is faster than on one.
        self._worth_all_cores = 0
        if weight.numel() < WORTH_ALL_CORES:
            with warnings.catch_warnings():
                # The two fbgemm functions save 10 microseconds for each of the 36 small products in a decoding step.
                # Both warn that a later torch version will remove them, but the torch version is pinned.
                warnings.simplefilter("ignore", UserWarning)
                self._one_core = torch.fbgemm_pack_gemm_matrix_fp16(weight)
                self._worth_all_cores = -(-WORTH_ALL_CORES // len(weight))
                self.product(weight.new_zeros(1, weight.shape[1]))

    def product(self, x: Tensor) -> Tensor:
        """Compute x W^T + b, [..., outputs] for x [..., inputs]."""
        # With a single thread, the multi-core function would not be faster.
        if x.numel() < self._worth_all_cores or (self._worth_all_cores and torch.get_num_threads() == 1):
            return torch.fbgemm_linear_fp16_weight_fp32_activation(x, self._one_core, self._bias)
        return torch.ops.quantized.linear_dynamic_fp16.default(x, self._all_cores)


def can_pack(weight: Tensor) -> bool:
    """Return whether a half-precision copy of the weight is exact and this machine's CPU can multiply by it."""
    return "fbgemm" in torch.backends.quantized.supported_engines and torch.equal(weight.half().float(), weight)
