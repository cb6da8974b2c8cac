"""torch's module, with less between a call and what it computes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.module import (
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
)


class Module(nn.Module):
    """A module that takes less of a decoding step, which calls 77 modules in little more than a millisecond.

    Its sub-modules are ordinary attributes too: torch looks for them in Python, after the ordinary way to find an
    attribute has failed. And a call without hooks only asks whether there are any.
    """

    def __call__(self, *args, **kwargs):
        if (
            self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
            or _global_forward_hooks or _global_forward_pre_hooks
            or _global_backward_hooks or _global_backward_pre_hooks
        ):
            return super().__call__(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Tensor | nn.Module) -> None:
        super().__setattr__(name, value)
        if isinstance(value, nn.Module):
            self.__dict__[name] = value


class Embedding(Module, nn.Embedding):
    """torch's embedding, without the function between it and the kernel."""

    def forward(self, input: Tensor) -> Tensor:
        """Piece ids [...] to vectors [..., D]."""
        return torch.embedding(self.weight, input)


class LayerNorm(Module, nn.LayerNorm):
    """torch's layer norm (Ba et al. 2016), without the function between it and the kernel."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., D] to [..., D]."""
        parameters = self._parameters  # Not `self.weight`, which torch looks for in Python.
        return torch.layer_norm(input, self.normalized_shape, parameters["weight"], parameters["bias"], self.eps)
