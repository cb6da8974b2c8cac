"""torch's module, with sub-modules that are found as fast as any other attribute."""

from __future__ import annotations

from torch import Tensor, nn


class Module(nn.Module):
    """A module whose sub-modules are ordinary attributes too.

    torch looks for them in Python, after the ordinary way to find an attribute has failed: half a microsecond each, and
    a step of decoding, which takes little more than a millisecond, asks for 150.
    """

    def __setattr__(self, name: str, value: Tensor | nn.Module) -> None:
        super().__setattr__(name, value)
        if isinstance(value, nn.Module):
            self.__dict__[name] = value
