"""Creates a model without drawing random weights for it."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class SkippedInitialisation(TorchFunctionMode):
    """Context in which new modules leave their parameters uninitialised.

    It is for models that get their weights from a file, and for models of which only the shapes are needed: drawing
    random weights takes longer than reading a file. torch's device "meta" also draws none, but importing the compiler
    that it needs takes a second.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Intercept every torch function; those of `torch.nn.init` return their tensor unchanged."""
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == torch.nn.init.__name__:
            tensor: Tensor = kwargs["tensor"] if "tensor" in kwargs else args[0]
            return tensor
        return func(*args, **kwargs)
