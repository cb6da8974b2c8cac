"""What Hugging Face's config.json says of a model, and whether the weights beside it fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

CONFIG = "config.json"


def whole(settings: Mapping[str, Any], name: str, largest: Mapping[str, int]) -> int:
    """A number of 1 to the largest that its name may have.

    Raises:
        ValueError: it is missing, no whole number, or out of range.
    """
    if settings.get(name) is None:
        raise ValueError(f"{CONFIG} has no {name}")
    value = settings[name]
    if type(value) is not int or not 1 <= value <= largest[name]:
        raise ValueError(f"{name} in {CONFIG} must be a whole number of 1 to {largest[name]:,}, not {value!r}")
    return value


def flag(settings: Mapping[str, Any], name: str, default: bool) -> bool:
    """Something that is on or off.

    Raises:
        ValueError: it is something else.
    """
    value = settings.get(name, default)
    if type(value) is not bool:
        raise ValueError(f"{name} in {CONFIG} must be true or false, not {value!r}")
    return value


def check_fit(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """See that weights have the shapes of a model's parameters, each of which is among them.

    Raises:
        ValueError: one has another.
    """
    for name, parameter in model.named_parameters():
        expected, found = tuple(parameter.shape), tuple(weights[name].shape)
        if found != expected:
            raise ValueError(f"its weights do not fit {CONFIG}: {name} should be {expected} and is {found}")
