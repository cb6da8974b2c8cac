"""torch's module, with less between a call and what it computes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Module(nn.Module):
    """A module that takes less of a decoding step, which calls 75 modules in little more than a millisecond.

    Its sub-modules are ordinary attributes too: torch looks for them in Python, after the ordinary way to find an
    attribute has failed. And a call does not ask whether `compile` was called before it looks for hooks.
    """

    __call__ = nn.Module._call_impl

    def __setattr__(self, name: str, value: Tensor | nn.Module) -> None:
        super().__setattr__(name, value)
        if isinstance(value, nn.Module):
            self.__dict__[name] = value


class LayerNorm(Module, nn.LayerNorm):
    """torch's layer norm (Ba et al. 2016), without the function between it and the kernel."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., D] to [..., D]."""
        return torch.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
