"""Freezes attention weights, layer norm scales and activation factors, so that gradients treat them as constants."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from transformer.model.attention import scaled_dot_product_attention


class FrozenFunctions(TorchFunctionMode):
    """Context manager that makes gradients treat a model as linear, in the current thread.

    Outputs stay the same, but gradients are those of a function that is linear in embeddings, positional encodings and
    biases. Sources: Ali et al. 2022, "XAI for Transformers: Better Explanations through Conservative Propagation",
    section 4; Modarressi et al. 2023, "DecompX".

    While the context is active, it replaces the torch functions that the layers call. It changes no module.

    Args:
        bias: factor by which every bias of the model is multiplied, broadcastable to [B, T, D].
    """

    def __init__(self, bias: Tensor) -> None:
        super().__init__()
        self.bias = bias

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call the frozen version of a torch function, or the function itself if it has no frozen version."""
        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        if name in ("relu", "gelu", "silu"):
            return self.activation(func(*args, **kwargs), *args)
        replacements = {
            "linear": self.linear,
            "layer_norm": self.layer_norm,
            "softmax": self.softmax,
            "scaled_dot_product_attention": self.attention,
        }
        return replacements.get(name, func)(*args, **kwargs)

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        y = F.linear(x, weight)
        return y if bias is None else y + self.bias * bias

    def layer_norm(self, x: Tensor, normalized_shape: list[int], weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        scale = (centred.square().mean(dim=-1, keepdim=True) + eps).rsqrt()
        return centred * scale.detach() * weight + self.bias * bias

    def softmax(self, scores: Tensor, dim: int) -> Tensor:
        return scores.softmax(dim).detach()

    def attention(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float) -> Tensor:
        return scaled_dot_product_attention(query.detach(), key.detach(), value, mask).output

    def activation(self, y: Tensor, x: Tensor) -> Tensor:
        """Return the activation y = f(x) as x times the constant y / x; the constant is 0 where x is 0."""
        return x * torch.where(x == 0, 0.0, y / x).detach()
