"""Variants of the model's modules with less overhead per call, for inference.

`speed_up` changes the class of each module in a loaded model to one of these variants. Parameters and their names stay
the same.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
)

from transformer.model.attention import CrossAttention, MultiHeadAttention
from transformer.model.fast.malloc import use_huge_pages
from transformer.model.fast.packing import PackedWeights, can_pack
from transformer.model.kv_cache import KeysAndValues

# With this many parameters or more, the weights no longer fit into the CPU cache, so every step reads them from memory.
LARGE = 1 << 20


def speed_up(model: nn.Module) -> None:
    """Prepare a model for inference on its current device. Its weights must not change afterwards.

    On a CPU, a linear layer gets a half-precision copy of its weights if the copy is exact and the CPU supports it.
    Model runs that need gradients use the original weights.
    """
    for module in model.modules():
        module.__class__ = _fast_class(type(module))
        # Make sub-modules ordinary attributes. Otherwise, each lookup fails first and then falls back to torch's slower
        # `__getattr__`.
        module.__dict__.update(module._modules)
        if isinstance(module, Linear | FastCrossAttention):
            module.pack()
    parameters = list(model.parameters())
    if parameters[0].device.type == "cpu" and sum(each.numel() for each in parameters) >= LARGE:
        use_huge_pages()


class FastModule(nn.Module):
    """Module whose call runs `forward` directly if no torch hooks are registered.

    A decoding step calls 77 modules in a millisecond, so torch's overhead per call matters. `LayerNorm` and
    `Linear` read `self._parameters`, because `self.weight` would call torch's slower `__getattr__`.
    """

    def __call__(self, *args, **kwargs):
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return super().__call__(*args, **kwargs)
        return self.forward(*args, **kwargs)


class Embedding(FastModule, nn.Embedding):
    """Variant of torch's embedding layer that calls the kernel directly."""

    def forward(self, input: Tensor) -> Tensor:
        return torch.embedding(self.weight, input)


class LayerNorm(FastModule, nn.LayerNorm):
    """Variant of torch's layer norm that calls the kernel directly."""

    def forward(self, input: Tensor) -> Tensor:
        parameters = self._parameters
        return torch.layer_norm(input, self.normalized_shape, parameters["weight"], parameters["bias"], self.eps)


class Linear(FastModule, nn.Linear):
    """Variant of torch's linear layer that uses packed weights if it has any and its input needs no gradient."""

    _packed: PackedWeights | None = None

    def pack(self) -> None:
        if self.weight.device.type == "cpu" and can_pack(self.weight):
            self._packed = PackedWeights(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        packed = self._packed
        if packed is not None and not input.requires_grad:
            return packed.product(input)
        parameters = self._parameters
        return nn.functional.linear(input, parameters["weight"], parameters["bias"])  # type: ignore[arg-type]


class FastAttention(FastModule, MultiHeadAttention):
    """Multi-head attention that does not transpose axes of length 1."""

    def split_heads(self, x: Tensor) -> Tensor:
        batch, positions, numbers = x.shape
        return x.view(batch, numbers // self.width, 1, self.width) if positions == 1 else super().split_heads(x)

    def join_heads(self, x: Tensor) -> Tensor:
        return x.reshape(x.size(0), 1, -1) if x.size(2) == 1 else super().join_heads(x)


class FastCrossAttention(FastAttention, CrossAttention):
    """Cross-attention with packed weights for its two input projections: to queries, and to keys and values."""

    _packed: tuple[PackedWeights, PackedWeights] | None = None

    def pack(self) -> None:
        if self.in_projection.weight.device.type == "cpu" and can_pack(self.in_projection.weight):
            self._packed = (
                PackedWeights(*self.projection_of_queries()),
                PackedWeights(*self.projection_of_keys_and_values()),
            )

    def project_queries(self, x: Tensor) -> Tensor:
        if self._packed is None or x.requires_grad:
            return super().project_queries(x)
        return self.split_heads(self._packed[0].product(x))

    def project_keys_and_values(self, memory: Tensor) -> KeysAndValues:
        if self._packed is None or memory.requires_grad:
            return super().project_keys_and_values(memory)
        return KeysAndValues(self.split_heads(self._packed[1].product(memory)))


FAST = {
    nn.Embedding: Embedding,
    nn.LayerNorm: LayerNorm,
    nn.Linear: Linear,
    MultiHeadAttention: FastAttention,
    CrossAttention: FastCrossAttention,
}


@cache
def _fast_class(kind: type[nn.Module]) -> type[nn.Module]:
    """Return the fast class that replaces a module's class; a class that is already fast is returned unchanged."""
    if issubclass(kind, FastModule):
        return kind
    base = next((FAST[each] for each in kind.__mro__ if each in FAST), FastModule)
    return FAST.get(kind) or type(kind.__name__, (base, kind), {"__module__": kind.__module__})
