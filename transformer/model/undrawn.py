"""Making a model without drawing weights for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class Undrawn(TorchFunctionMode):
    """Modules made within leave their parameters as they are: for models that get their weights from a file, or of
    which only the shapes are asked.

    Drawing them takes longer than reading a file; on torch's device "meta", where there is nothing to draw, torch first
    imports its compiler, which takes a second.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What every function of torch goes through; those of `torch.nn.init` return their tensor."""
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == torch.nn.init.__name__:
            tensor: Tensor = kwargs["tensor"] if "tensor" in kwargs else args[0]
            return tensor
        return func(*args, **kwargs)
