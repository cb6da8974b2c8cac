"""Creates a model without drawing random weights for it."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class SkippedInitialisation(TorchFunctionMode):
    """Context manager in which new modules leave their parameters uninitialised.

    Drawing random weights takes longer than reading weights from a file. Random weights are useless if a file provides
    the weights or if only their shapes are needed. torch's device "meta" draws no weights either, but imports a
    compiler, which takes a second.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call a torch function, but return the tensor argument of a `torch.nn.init` function without calling it."""
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == torch.nn.init.__name__:
            tensor: Tensor = kwargs["tensor"] if "tensor" in kwargs else args[0]
            return tensor
        return func(*args, **kwargs)
