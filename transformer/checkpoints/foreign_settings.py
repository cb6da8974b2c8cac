"""Reads settings from Hugging Face's config.json, and checks that the weights match them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from transformer.config import Activation

# Hugging Face's names of the supported activations, and this project's names.
ACTIVATIONS: dict[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
CONFIG, GENERATION = "config.json", "generation_config.json"


def whole(settings: Mapping[str, Any], name: str, largest: Mapping[str, int]) -> int:
    """An integer setting, which must be from 1 to the limit for its name.

    Raises:
        ValueError: the setting is missing, not an integer, or out of range.
    """
    if settings.get(name) is None:
        raise ValueError(f"{CONFIG} has no {name}")
    value = settings[name]
    if type(value) is not int or not 1 <= value <= largest[name]:
        raise ValueError(f"{name} in {CONFIG} must be a whole number of 1 to {largest[name]:,}, not {value!r}")
    return value


def flag(settings: Mapping[str, Any], name: str, default: bool) -> bool:
    """A setting that is true or false.

    Raises:
        ValueError: the value is neither.
    """
    value = settings.get(name, default)
    if type(value) is not bool:
        raise ValueError(f"{name} in {CONFIG} must be true or false, not {value!r}")
    return value


def activation(settings: Mapping[str, Any], default: str) -> Activation:
    """The activation of the feed-forward networks, by this project's name.

    Raises:
        ValueError: the activation is not supported.
    """
    name = settings.get("activation_function", default)
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise ValueError(f"its activation is {name!r}, but the choices are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def check_fit(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Check that the weights, which include every parameter of a model, have the shapes of its parameters.

    Raises:
        ValueError: a weight has another shape.
    """
    for name, parameter in model.named_parameters():
        expected, found = tuple(parameter.shape), tuple(weights[name].shape)
        if found != expected:
            raise ValueError(f"its weights do not fit {CONFIG}: {name} should be {expected}, but is {found}")
