"""Validates settings in a Hugging Face config.json, and checks that the weights match the settings."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from transformer.config import Activation

# Maps Hugging Face's activation names to this project's names.
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


def integer_setting(settings: Mapping[str, Any], name: str, largest: Mapping[str, int]) -> int:
    """Return a setting from config.json that must be an integer from 1 to `largest[name]`.

    Raises:
        ValueError: the setting is missing, not an integer, or out of range.
    """
    if settings.get(name) is None:
        raise ValueError(f"{CONFIG} has no {name}")
    value = settings[name]
    if type(value) is not int or not 1 <= value <= largest[name]:
        raise ValueError(f"{name} in {CONFIG} must be a whole number from 1 to {largest[name]:,}, not {value!r}")
    return value


def boolean_setting(settings: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return a Boolean setting from config.json.

    Raises:
        ValueError: the value is neither true nor false.
    """
    value = settings.get(name, default)
    if type(value) is not bool:
        raise ValueError(f"{name} in {CONFIG} must be true or false, not {value!r}")
    return value


def activation_setting(settings: Mapping[str, Any], default: str) -> Activation:
    """Return this project's name for the activation function of the feed-forward networks.

    Raises:
        ValueError: the activation is not supported.
    """
    name = settings.get("activation_function", default)
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise ValueError(f"the activation {name!r} is not supported; the supported ones are: {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def check_fit(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Check that the weights to be loaded have the shapes of a model's parameters.

    Args:
        model: model created from config.json.
        weights: tensors by parameter name, one for every parameter.

    Raises:
        ValueError: a weight has a different shape.
    """
    for name, parameter in model.named_parameters():
        expected, found = tuple(parameter.shape), tuple(weights[name].shape)
        if found != expected:
            raise ValueError(f"its weights do not fit {CONFIG}: {name} should have shape {expected}, but has {found}")
